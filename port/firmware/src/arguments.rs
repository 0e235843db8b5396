//! The command line: words of the form `name=value`, and the NIC configuration that they describe.

use alloc::string::String;
use alloc::vec::Vec;

use dpa_model::{Choice, NicConfig, Options, Order};

pub(crate) struct Arguments(String);

impl Arguments {
    /// Asks the machine's host for the command line.
    pub(crate) fn read() -> Self {
        let mut line = String::new();
        if let Ok(words) = semihosting::experimental::env::args::<1024>() {
            for word in words.flatten() {
                line.push_str(word);
                line.push(' ');
            }
        }
        Self(line)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let words = self.0.split_ascii_whitespace();
        words
            .filter_map(|word| word.split_once('='))
            .find(|word| word.0 == name)
            .map(|word| word.1)
    }

    pub(crate) fn number(&self, name: &str, default: usize) -> usize {
        match self.get(name) {
            None => default,
            Some(text) => match text.parse() {
                Ok(number) => number,
                Err(_) => crate::refuse(format_args!("{name}={text} is no number")),
            },
        }
    }

    fn choice<T: Choice>(&self, name: &str) -> T {
        let Some(text) = self.get(name) else {
            return T::default();
        };
        let Some(value) = T::named(text) else {
            let known: Vec<&str> = T::ALL.iter().map(|value| value.name()).collect();
            crate::refuse(format_args!("{name}={text}: {}", known.join(", ")))
        };
        value
    }

    /// The word's place among those that are allowed; without it the first.
    pub(crate) fn one_of(&self, name: &str, allowed: [&str; 2]) -> usize {
        let Some(text) = self.get(name) else { return 0 };
        let place = allowed.iter().position(|word| *word == text);
        place.unwrap_or_else(|| {
            crate::refuse(format_args!("{name}={text}: {}", allowed.join(" or ")))
        })
    }

    /// The NIC's configuration; `workers` of them run slices.
    pub(crate) fn config(&self, workers: usize) -> NicConfig {
        let order = [Order::Stamped, Order::Free][self.one_of("order", ["stamped", "free"])];
        let (queue, receives) = (self.number("queue", 256), self.number("receives", 512));
        NicConfig {
            handlers: self.number("handlers", 1),
            workers,
            slice_min: 1,
            receives,
            bins: self.number("bins", 256),
            communicators: self.number("comms", 1),
            completion_queues: self.number("queues", 2),
            completion_queue: queue,
            bounce_buffers: 64,
            eager_limit: 256,
            unexpected: self.number("unexpected", receives),
            unexpected_buffers: self.number("unexpected", receives),
            command_queue: queue,
            completion_ring: 2 * queue,
            regions: 16,
            options: Options {
                fast_path: self.choice("fast"),
                removal: self.choice("removal"),
                barrier: self.choice("barrier"),
                domains: self.choice("domains"),
                order,
                early_check: self.number("early", 0) != 0,
                always_book: self.number("book", 0) != 0,
                always_shared: self.number("shared", 1) != 0,
                ..Options::default()
            },
            ..NicConfig::default()
        }
    }
}
