//! Local steps.

use meshfold_engine::{Anchor, GradientsOn, Key, Purpose, Velocity, stream};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rand::Rng;

use super::super::layers;
use super::super::slopes::Slopes;
use super::super::stack::{PyStack, beside, engine};
use super::PyRound;

#[pymethods]
impl PyRound {
    #[doc = documented!("Round.train")]
    #[pyo3(signature = (models, *, velocity=None, correction=None, anchor=None, mu=None, steps=None, clients=None, layers=None, batch=None, slopes=None, representation_slopes=None, aside=false))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn train(
        &self,
        py: Python<'_>,
        models: &Bound<'_, PyAny>,
        velocity: Option<&Bound<'_, PyAny>>,
        correction: Option<&Bound<'_, PyAny>>,
        anchor: Option<&Bound<'_, PyAny>>,
        mu: Option<f32>,
        steps: Option<&Bound<'_, PyAny>>,
        clients: Option<&Bound<'_, PyAny>>,
        layers: Option<&Bound<'_, PyAny>>,
        batch: Option<&Bound<'_, PyAny>>,
        slopes: Option<&Bound<'_, PyAny>>,
        representation_slopes: Option<&Bound<'_, PyAny>>,
        aside: bool,
    ) -> PyResult<()> {
        let models = PyStack::argument(models, "train: `models`")?;
        let named = |stack, name| PyStack::argument(stack, name);
        let velocity = velocity.map(|stack| named(stack, "train: `velocity`"));
        let correction = correction.map(|stack| named(stack, "train: `correction`"));
        let anchor = anchor.map(|stack| named(stack, "train: `anchor`"));
        let (velocity, correction) = (velocity.transpose()?, correction.transpose()?);
        let anchor = anchor.transpose()?;
        if anchor.is_some() && mu.is_none() {
            return Err(PyValueError::new_err(
                "train: found `anchor` and no `mu`, needed both: `mu * (w - anchor)` is added to every gradient, so `mu` is the strength of the \
                 pull, such as 0.1",
            ));
        }
        if let Some(mu) = mu.filter(|mu| !(mu.is_finite() && *mu >= 0.0)) {
            return Err(PyValueError::new_err(format!(
                "train: found a `mu` of {mu}, needed a finite number of at least 0"
            )));
        }
        if mu.is_some_and(|mu| mu != 0.0) && anchor.is_none() {
            return Err(PyValueError::new_err(
                "train: found `mu` and no `anchor`, needed both: `mu * (w - anchor)` is added to every gradient, so `anchor` is a stack \
                 such as `models.copy()` made before the steps",
            ));
        }
        if aside && velocity.is_some() {
            return Err(PyValueError::new_err(
                "train: found `velocity` with `aside=True`, needed none: momentum of steps aside begins at zero and is forgotten",
            ));
        }
        if velocity.is_some_and(|velocity| velocity.is(models)) {
            return Err(PyValueError::new_err(
                "train: the velocity is the models themselves, needed a stack of its own, such as `models.zeros_like()` made in `start`",
            ));
        }
        let wrong = match batch {
            Some(_) if steps.is_some() => {
                "found `batch` with `steps`, needed one of them: a batch is one step"
            }
            Some(_) if aside => {
                "found `batch` with `aside=True`, needed one of them: steps aside draw their own batches"
            }
            _ => "",
        };
        if !wrong.is_empty() {
            return Err(PyValueError::new_err(format!("train: {wrong}")));
        }
        let count = models.try_borrow()?.stack()?.rows();
        let batch = self.batch_of("train", count, batch)?;
        let request = self.request("train", count, batch, clients, steps)?;
        let slopes = Slopes::read("train", count, batch, slopes, representation_slopes)?;
        let layers = match layers {
            Some(names) => layers::read(names, models.try_borrow()?.stack()?.layout())?,
            None => None,
        };
        let changed: Vec<&Bound<'_, PyStack>> = [models].into_iter().chain(velocity).collect();
        let is_side = self.is_side(models);
        let read = |stack| beside(stack, &changed);
        let correction = correction.map(read).transpose()?;
        let anchor = anchor.map(read).transpose()?;
        let mut models = models.try_borrow_mut()?;
        let models = models.stack_mut()?;
        let mut velocity = velocity.map(|kept| kept.try_borrow_mut()).transpose()?;
        let velocity = velocity.as_mut().map(|kept| kept.stack_mut()).transpose()?;
        let correction = correction.as_ref().map(|stack| stack.stack()).transpose()?;
        let anchor = anchor.as_ref().map(|stack| stack.stack()).transpose()?;
        self.uses.train.note();
        if steps.is_none() && batch.is_none() {
            self.uses.local.note();
        }
        let (number, seed, keeps_velocity) = (self.number, self.seed, velocity.is_some());
        self.with(py, move |mut lent| {
            let rows = request.rows(&mut lent.round, lent.training);
            let mut work = lent.round.work(&rows, lent.training);
            work.layers = layers.as_ref();
            work.correction = correction;
            let mu = mu.unwrap_or(0.0);
            work.anchor = anchor.map(|models| Anchor { models, mu });
            if aside {
                let key = Key {
                    row: 3,
                    ..Key::default()
                };
                let seed = stream(seed, Purpose::Evaluation, key).next_u64();
                let trained = lent.round.learner.train_aside(models, &work, seed);
                return trained.map_err(engine);
            }
            let velocity = velocity.map_or(Velocity::Fresh, Velocity::Kept);
            if is_side {
                lent.uses.side_calls.note(number, "round.train", &rows);
            }
            let learner = &mut lent.round.learner;
            let steps = match batch {
                None => learner.train(models, velocity, &work),
                Some(batch) => {
                    batch.note_uses(&rows, learner.partition(), lent.uses);
                    let rates = learner.rates(&work).map_err(engine)?;
                    let (rates, counted) = (batch.rates(rates), batch.counted(count));
                    let on = slopes.of(GradientsOn {
                        counted: &counted,
                        rates: Some(&rates),
                        ..GradientsOn::of(&batch.examples)
                    });
                    let moved = learner.step_on(models, velocity, &work, &on);
                    moved.inspect(|moved| batch.count(&rates, moved))
                }
            };
            let steps = steps.map_err(engine)?;
            if lent.round.has_deadline() && lent.round.traffic.has_work() {
                lent.uses.deadlines.note();
            }
            lent.round.count_steps(&rows, &steps);
            match keeps_velocity || steps.iter().any(|steps| *steps > 1) {
                true => lent.uses.momentum.note(),
                false => lent.uses.single_steps.note(),
            }
            Ok(())
        })
    }
}
