//! Values that a configuration may leave out.

use serde::{Deserialize, Deserializer};

/// `null` is the default, as it is of the other settings that may be absent.
pub(super) fn or_null<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    value: D,
) -> Result<T, D::Error> {
    Option::<T>::deserialize(value).map(Option::unwrap_or_default)
}
