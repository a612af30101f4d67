"""Holds the schema of settings against the experiments of the project.

    meshfold settings > settings.json
    python docs/reference/check.py settings.json

Every experiment and every line of experiments/README.md must be valid, and no longer be once a key of it is misspelt.
It needs jsonschema and ruamel.yaml.
"""

import copy
import json
import sys
from pathlib import Path

from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
RUN = {
    "name": "line",
    "dataset": "glyphs",
    "partition": {"iid": {"clients": 12}},
    "model": "logistic",
    "algorithm": {"dsgd": {"batch_size": 20, "learning_rate": 0.05}},
    "rounds": 5,
}


def read(text):
    return YAML(typ="safe", pure=True).load(text)


def experiments():
    """All experiments, each with a name."""
    folders = [ROOT / "experiments", ROOT / "crates" / "cli" / "tests" / "numbers"]
    for path in sorted(path for folder in folders for path in folder.rglob("*.yaml")):
        experiment = read(path.read_text(encoding="utf-8"))
        # Files of `meshfold churn` and `meshfold reproduce` are no experiments.
        if not {"events", "rows"} & experiment.keys():
            yield path.relative_to(ROOT), experiment
    blocks = (ROOT / "experiments" / "README.md").read_text(encoding="utf-8").split("```yaml\n")[1:]
    for line in (line for block in blocks for line in block.split("```")[0].splitlines()):
        yield line, {**RUN, **read(line)}


def misspelt(value, within=()):
    """The same with one key misspelt, for each of its keys but those that may have any name."""
    if isinstance(value, dict):
        for key in value:
            if within[:1] != ("sweep",) and "own" not in within:
                wrong = {("misspelt" if other == key else other): kept for other, kept in value.items()}
                yield (*within, key), wrong
            for path, inner in misspelt(value[key], (*within, key)):
                yield path, {**value, key: inner}
    elif isinstance(value, list):
        for at, item in enumerate(value):
            for path, inner in misspelt(item, (*within, at)):
                yield path, [*value[:at], inner, *value[at + 1 :]]


def main():
    schema = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    faults, valid, refused = [], 0, 0
    for name, experiment in experiments():
        found = list(validator.iter_errors(experiment))
        faults += [f"{name}: {fault.json_path}: {fault.message[:300]}" for fault in found]
        valid += not found
        for path, wrong in misspelt(copy.deepcopy(experiment)):
            if validator.is_valid(wrong):
                faults.append(f"{name}: {'.'.join(map(str, path))} misspelt is taken")
            refused += 1
    print(f"{valid} experiments and lines are valid, {refused} misspelt keys were tried")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
