//! Phases of a recorded program with the messages inside its collective operations.

use std::path::Path;

use dpamatch_papers::cost::from_trace;
use dpamatch_tools::collectives::Library;
use dpamatch_traces::{OpenOptions, open};

#[test]
fn phases_hold_the_messages_of_their_last_call() {
    let path = "../tests/data/traces/recorder/transpose-8.dumpi.tar.xz";
    let trace = open(Path::new(path), &OpenOptions::default()).expect("a trace");
    let list = from_trace::read(&*trace, Library::Mpich)
        .expect("a whole trace")
        .list;
    let messages: Vec<_> = list
        .phases
        .iter()
        .map(|phase| phase.messages.len())
        .collect();
    assert_eq!(messages, [&[7][..], &[56, 35, 24].repeat(8)].concat());
    let bytes = |phase: usize| {
        list.phases[phase]
            .messages
            .iter()
            .map(|it| it.bytes)
            .sum::<u64>()
    };
    assert_eq!(
        [0, 1, 2, 3].map(bytes),
        [7 * 8, 56 * 16 * 8, 35 * 16 * 8, 24 * 8]
    );
}
