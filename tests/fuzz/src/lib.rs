//! What the targets of the trace readers share.

use dpamatch_traces::{Argument, Op, RankReader};

/// Reads to the end, and looks at everything a call offers.
pub fn read_all(reader: &mut dyn RankReader, salvages: bool) {
    let mut calls = 0;
    let failed = loop {
        match reader.next_call() {
            Ok(Some(call)) => {
                assert_eq!(call.sequence, calls);
                calls += 1;
                if let Op::Completion(completion) = call.op {
                    for (position, request, status) in completion.completed() {
                        assert_eq!(completion.requests[position], request);
                        std::hint::black_box(status.and_then(|status| status.envelope()));
                    }
                }
                let Some(arguments) = reader.arguments() else {
                    continue;
                };
                for (_, argument) in arguments.iter() {
                    if let Argument::Texts(texts) = argument {
                        std::hint::black_box(texts.iter().map(<[u8]>::len).sum::<usize>());
                    }
                }
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    if let Some(error) = &failed {
        assert!(
            !(salvages && error.can_be_saved()),
            "what can be saved is no error: {error}"
        );
        std::hint::black_box(error.to_string());
    }
    assert!(
        matches!(reader.next_call(), Ok(None)),
        "the end stays the end"
    );
    if let Some(salvage) = reader.salvage() {
        assert_eq!(salvage.calls, calls);
    }
}
