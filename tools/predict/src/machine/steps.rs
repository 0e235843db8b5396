//! What a handler's code does between two of its steps.

/// Between two steps: of handler 0, and what each further handler of a block takes more.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Between {
    /// Instructions.
    pub instructions: [f64; 2],
    /// Loads that miss the first level, of lines that the EU has for itself or nobody writes: its
    /// stack, scratch, counters, views.
    pub own_lines: [f64; 2],
    /// Lines of code that miss the first level.
    pub code_lines: f64,
}

impl Between {
    /// Instructions, own lines and lines of code of this handler.
    pub(crate) fn of(&self, handler: usize) -> [f64; 3] {
        let at = |[first, more]: [f64; 2]| first + more * handler as f64;
        [at(self.instructions), at(self.own_lines), self.code_lines]
    }
}

/// A table of all pairs of steps.
#[derive(Clone, PartialEq, Debug)]
pub struct Steps {
    count: usize,
    between: Vec<Between>,
}

impl Steps {
    /// So many steps, with nothing between any two.
    pub fn new(count: usize) -> Self {
        Self { count, between: vec![Between::default(); count * count] }
    }

    /// What is between two of them.
    ///
    /// # Panics
    /// When there are not so many steps.
    pub fn set(&mut self, from: usize, to: usize, between: Between) {
        assert!(to < self.count, "there are {} steps", self.count);
        self.between[from * self.count + to] = between;
    }

    pub(crate) fn get(&self, from: usize, to: usize) -> Between {
        self.between[from * self.count + to]
    }
}
