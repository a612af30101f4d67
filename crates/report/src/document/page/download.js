// Hands the reader a file that the page has made.
const download = (name, address) => {
  const link = document.createElement("a");
  link.download = name;
  link.href = address;
  link.click();
};
