//! The command line: words of the form `name=value`, and the NIC that they ask for.

use alloc::string::String;

use dpa_model::{Barrier, FastPath, NicConfig, Options, Order, Removal, Repost};

/// The command line.
pub(crate) struct Arguments(String);

impl Arguments {
    /// As the machine's host gives it.
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

    /// The value of a word.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let words = self.0.split_ascii_whitespace();
        words.filter_map(|word| word.split_once('=')).find(|word| word.0 == name).map(|word| word.1)
    }

    /// The value of a word as a number; `default` where there is none.
    pub(crate) fn number(&self, name: &str, default: usize) -> usize {
        match self.get(name) {
            None => default,
            Some(text) => match text.parse() {
                Ok(number) => number,
                Err(_) => crate::refuse(format_args!("{name}={text} is no number")),
            },
        }
    }

    /// The NIC: `workers` of them run slices.
    pub(crate) fn config(&self, workers: usize, order: Order) -> NicConfig {
        let fast_path = match self.get("fast") {
            None | Some("sequence") => FastPath::Sequence,
            Some("off") => FastPath::Off,
            Some("literal") => FastPath::Literal,
            Some("prefix") => FastPath::Prefix,
            Some(other) => crate::refuse(format_args!("fast={other} is no fast path")),
        };
        let removal = match self.get("removal") {
            None | Some("lazy") => Removal::Lazy,
            Some("eager") => Removal::Eager,
            Some("deferred") => Removal::Deferred,
            Some(other) => crate::refuse(format_args!("removal={other} is no removal")),
        };
        let barrier = match self.get("barrier") {
            None | Some("lanes") => Barrier::Lanes,
            Some("bitmap") => Barrier::Bitmap,
            Some(other) => crate::refuse(format_args!("barrier={other} is no barrier")),
        };
        let repost = match self.get("repost") {
            None | Some("leader") => Repost::Leader,
            Some("handlers") => Repost::Handlers,
            Some(other) => crate::refuse(format_args!("repost={other}: leader or handlers")),
        };
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
                fast_path,
                removal,
                barrier,
                repost,
                order,
                early_check: self.number("early", 0) != 0,
                always_shared: self.number("shared", 1) != 0,
                ..Options::default()
            },
            ..NicConfig::default()
        }
    }
}
