//! What a method keeps from round to round besides the models.

use meshfold_engine::Stack;
use std::borrow::Cow;
use std::slice;

/// A stack that a method keeps from round to round, and the name under which a checkpoint holds it.
#[derive(Debug)]
pub struct KeptStack {
    name: Cow<'static, str>,
    rows: usize,
    stack: Option<Stack>,
}

impl KeptStack {
    /// A stack of `rows` rows that does not exist yet.
    pub fn new(name: impl Into<Cow<'static, str>>, rows: usize) -> Self {
        Self {
            name: name.into(),
            rows,
            stack: None,
        }
    }

    /// The name in a checkpoint.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Rows that the stack has once it is there.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The stack, if it is there.
    pub fn get(&self) -> Option<&Stack> {
        self.stack.as_ref()
    }

    /// The stack, if it is there.
    pub fn get_mut(&mut self) -> Option<&mut Stack> {
        self.stack.as_mut()
    }

    /// The stack; if there is none yet, it becomes zeros, on the device and in the layout of `models`.
    pub fn or_zeros(&mut self, models: &Stack) -> &mut Stack {
        let zeros = || Stack::zeros(models.device(), models.layout(), self.rows);
        self.stack.get_or_insert_with(zeros)
    }

    /// Keeps `stack` and returns the one before.
    pub fn replace(&mut self, stack: Stack) -> Option<Stack> {
        self.stack.replace(stack)
    }

    /// Takes the stack out; none is left.
    pub fn take(&mut self) -> Option<Stack> {
        self.stack.take()
    }

    /// Keeps none.
    pub fn forget(&mut self) {
        self.stack = None;
    }

    /// For [`Algorithm::kept`](crate::Algorithm::kept).
    pub fn kept(&self) -> &[Self] {
        slice::from_ref(self)
    }

    /// For [`Algorithm::kept_mut`](crate::Algorithm::kept_mut).
    pub fn kept_mut(&mut self) -> &mut [Self] {
        slice::from_mut(self)
    }
}

/// Says that a method keeps the [`KeptStack`] in its field `$field`, or the [`KeptVelocity`](crate::velocity::KeptVelocity), and no other
/// stack.
#[macro_export]
macro_rules! keeps_stack {
    ($field:ident) => {
        fn kept(&self) -> &[$crate::KeptStack] {
            self.$field.kept()
        }

        fn kept_mut(&mut self) -> &mut [$crate::KeptStack] {
            self.$field.kept_mut()
        }
    };
}
