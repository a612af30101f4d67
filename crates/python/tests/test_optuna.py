"""Runs report to Optuna as trials, and pruned trials are ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import meshfold as mf
import pytest
from conftest import required

optuna = required("optuna")

Experiment = dict[str, Any]


class Reports:
    """A trial that notes what is reported and is pruned after some reports."""

    def __init__(self, until: int) -> None:
        self.until = until
        self.reported: list[tuple[int, float]] = []

    def report(self, value: float, step: int) -> None:
        self.reported.append((step, value))

    def should_prune(self) -> bool:
        return len(self.reported) >= self.until


def accuracies(run: mf.Run) -> list[float]:
    lines = (run.folder / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["test_accuracy"]["mean"] for line in lines]


def test_the_mean_over_the_runs_is_reported_once_for_each_round(experiment: Experiment) -> None:
    trial = Reports(until=100)
    runs = mf.run(experiment, callbacks=[mf.callbacks.OptunaPruning(trial)], at_once=4)
    of_runs = [accuracies(run) for run in runs]
    expected = [(round, sum(values) / 4) for round, values in enumerate(zip(*of_runs))]
    assert trial.reported == expected
    again = Reports(until=100)
    mf.run(experiment, callbacks=[mf.callbacks.OptunaPruning(again)])
    assert again.reported == expected, "finished runs report what they have"


def test_a_pruned_run_keeps_its_checkpoint_and_goes_on_later(experiment: Experiment) -> None:
    experiment.update(rounds=100_000, checkpoint={"every": 10}, evaluate={"every": 100}, sweep=None)
    trial = Reports(until=3)
    with pytest.raises(optuna.TrialPruned, match="pruned after round 200"):
        mf.run(experiment, callbacks=[mf.callbacks.OptunaPruning(trial)])
    assert [step for step, _ in trial.reported] == [0, 100, 200], "what comes after the decision is not reported"
    (run,) = mf.read("runs/small")
    assert not run.is_finished and run.failure is None
    assert (run.folder / "checkpoint.safetensors").is_file()
    before = len(accuracies(run))
    trial = Reports(until=before + 2)
    with pytest.raises(optuna.TrialPruned):
        mf.run(experiment, callbacks=[mf.callbacks.OptunaPruning(trial)])
    assert [step for step, _ in trial.reported] == [100 * place for place in range(before + 2)]


def test_a_study_prunes_bad_trials(experiment: Experiment) -> None:
    experiment.update(rounds=40, sweep=None)

    def objective(trial: Any) -> float:
        rate = trial.suggest_float("rate", 1e-6, 0.3, log=True)
        runs = mf.run(
            experiment,
            set={"algorithm.dsgd.learning_rate": rate},
            callbacks=[mf.callbacks.OptunaPruning(trial)],
        )
        return accuracies(runs[0])[-1]

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = optuna.pruners.MedianPruner(n_startup_trials=2, n_warmup_steps=5)
    study = optuna.create_study(
        direction="maximize", pruner=pruner, sampler=optuna.samplers.RandomSampler(seed=3)
    )
    study.optimize(objective, n_trials=10)
    states = [trial.state for trial in study.trials]
    assert states.count(optuna.trial.TrialState.PRUNED) >= 1
    assert states.count(optuna.trial.TrialState.COMPLETE) >= 2
    assert study.best_trial.params["rate"] > 1e-3
    for trial in study.trials:
        steps = sorted(trial.intermediate_values)
        assert steps == list(range(len(steps)))
    assert len(list(Path("runs/small").glob("*/metrics.jsonl"))) == 10


def test_a_study_in_a_database_goes_on_and_works_on_two_threads(experiment: Experiment) -> None:
    experiment.update(rounds=10, sweep=None)

    def objective(trial: Any) -> float:
        rate = trial.suggest_float("rate", 1e-3, 0.3, log=True)
        pruning = mf.callbacks.OptunaPruning(trial)
        runs = mf.run(experiment, set={"algorithm.dsgd.learning_rate": rate}, callbacks=[pruning], progress=False)
        return accuracies(runs[0])[-1]

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    where = {"study_name": "rates", "storage": "sqlite:///optuna.db"}
    optuna.create_study(direction="maximize", pruner=optuna.pruners.NopPruner(), **where).optimize(objective, n_trials=2)
    study = optuna.load_study(pruner=optuna.pruners.NopPruner(), **where)
    study.optimize(objective, n_trials=4, n_jobs=2)
    trials = optuna.load_study(**where).trials
    assert [trial.state for trial in trials] == [optuna.trial.TrialState.COMPLETE] * 6
    assert all(sorted(trial.intermediate_values) == list(range(11)) for trial in trials)


def test_a_figure_that_is_not_there_is_named(experiment: Experiment) -> None:
    pruning = mf.callbacks.OptunaPruning(Reports(until=1), metric="accuracy")
    with pytest.raises(ValueError, match="there is no figure accuracy, but .*test_accuracy.mean"):
        mf.run(experiment, callbacks=[pruning])


def test_a_figure_that_was_not_measured_is_not_reported(experiment: Experiment) -> None:
    trial = Reports(until=100)
    pruning = mf.callbacks.OptunaPruning(trial, metric="train_loss")
    mf.run(experiment, set={"sweep": None}, callbacks=[pruning])
    assert [step for step, _ in trial.reported] == [1, 2, 3, 4, 5], "no loss before the first round"
