//! What copying the bytes alone takes: the limit of long messages.

use std::hint::black_box;
use std::time::Instant;

use super::load::Window;
use super::machine::Processors;
use super::window::REPETITIONS_MIN;
use super::{BenchError, Settings, payload};

/// Copies windows of messages; the time of each in nanoseconds, and whether the thread had a
/// processor of its own.
pub(super) fn copy(window: &Window, settings: &Settings) -> Result<(Vec<f64>, bool), BenchError> {
    let count = window.messages.len();
    let (from, mut to) =
        (payload::buffers(count, window.size), payload::buffers(count, window.size));
    let processors = Processors::allowed();
    std::thread::scope(|scope| {
        let copying =
            std::thread::Builder::new().name("copy".into()).spawn_scoped(scope, || {
                let pinned = processors.pin_receiver();
                let mut times = Vec::with_capacity(settings.repetitions);
                let begin = Instant::now();
                while times.len() < settings.repetitions
                    && (times.len() < REPETITIONS_MIN || begin.elapsed() < settings.budget)
                {
                    let start = Instant::now();
                    for (from, to) in from.iter().zip(&mut to) {
                        to.copy_from_slice(black_box(from));
                    }
                    black_box(&to);
                    times.push(start.elapsed().as_nanos() as f64);
                }
                (times, pinned)
            })?;
        copying.join().map_err(|_| BenchError::Panic)
    })
}
