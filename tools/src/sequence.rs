//! Streams as the predictor takes them.

use dpamatch_predict::Sequence;
use dpamatch_vocabulary::{Operation, RecvId};

use dpamatch::engine::{Engine, Oracle};
use dpamatch::stream::Event;

/// Length of a message whose stream does not tell.
const BYTES: u32 = 8;

/// The events as a sequence for `dpamatch_predict`.
///
/// A stream does not name the receive that takes what a matched probe has found. To matching, a
/// matched probe that finds a message is a receive that does so, and one that finds none is a
/// probe: which it is, the oracle tells.
pub fn sequence(events: impl IntoIterator<Item = Event>) -> Sequence {
    let (mut operations, mut lengths) = (Vec::new(), Vec::new());
    for event in events {
        let operation = event.operation(0, BYTES);
        if operation.is_arrival() {
            lengths.push(event.length().unwrap_or(BYTES.into()));
        }
        operations.push(operation);
    }
    if operations
        .iter()
        .any(|operation| matches!(operation, Operation::Probe { take: true, .. }))
    {
        decide_probes(&mut operations);
    }
    Sequence::new(operations).with_lengths(lengths)
}

fn decide_probes(operations: &mut [Operation]) {
    let names = operations.iter().filter_map(|operation| match operation {
        Operation::Post { recv, .. } | Operation::Cancel { recv } => Some(recv.0),
        _ => None,
    });
    let mut unused = names.max().map_or(0, |last| last.wrapping_add(1));
    let mut oracle = Oracle::new();
    for operation in operations {
        match *operation {
            Operation::Post {
                recv,
                comm,
                selector,
                ..
            } => {
                oracle.post(recv, comm, selector);
            }
            Operation::Arrive { msg, envelope, .. } => {
                oracle.arrive(msg, envelope);
            }
            Operation::Cancel { recv } => {
                oracle.cancel(recv);
            }
            Operation::Probe {
                probe,
                comm,
                selector,
                take: true,
            } => {
                *operation = match oracle.mprobe(comm, selector) {
                    None => Operation::Probe {
                        probe,
                        comm,
                        selector,
                        take: false,
                    },
                    Some(_) => {
                        let recv = RecvId(unused);
                        unused = unused.wrapping_add(1);
                        Operation::Post {
                            recv,
                            comm,
                            selector,
                            bytes: BYTES,
                        }
                    }
                };
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpamatch::stream::Reader;

    fn of(text: &str) -> Vec<Operation> {
        let events = Reader::new(text.as_bytes()).map(|event| event.expect("a good line"));
        sequence(events.collect::<Vec<_>>()).operations().to_vec()
    }

    #[test]
    fn a_matched_probe_is_the_receive_that_it_is_to_matching() {
        let probed = "mprobe,0,0,*,7\npost,3,0,1,7\narrive,0,0,1,7\narrive,1,0,2,7\nmprobe,1,0,*,7\n\
                      mprobe,2,0,*,7\n";
        let plain = "probe,0,0,*,7\npost,3,0,1,7\narrive,0,0,1,7\narrive,1,0,2,7\n\
                     post,4,0,*,7,size=8\nprobe,2,0,*,7\n";
        assert_eq!(of(probed), of(plain));
    }
}
