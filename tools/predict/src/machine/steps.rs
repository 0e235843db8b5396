//! Costs of a handler's code between two steps.

/// Costs between two steps: for handler 0, and the excess of each further handler of a block.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Between {
    pub instructions: [f64; 2],
    /// Loads that miss the first level, of lines private to the EU or never written: stack,
    /// scratch, counters, views.
    pub own_lines: [f64; 2],
    pub code_lines: f64,
}

impl Between {
    /// Instructions, private lines and code lines of this handler.
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
    /// A table of `count` steps, without costs between them.
    pub fn new(count: usize) -> Self {
        Self {
            count,
            between: vec![Between::default(); count * count],
        }
    }

    /// Sets the costs between two steps.
    ///
    /// # Panics
    /// When a step is out of range.
    pub fn set(&mut self, from: usize, to: usize, between: Between) {
        assert!(to < self.count, "there are {} steps", self.count);
        self.between[from * self.count + to] = between;
    }

    pub(crate) fn get(&self, from: usize, to: usize) -> Between {
        self.between[from * self.count + to]
    }
}
