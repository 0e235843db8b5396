//! What the boundary counts.

use crate::{CommId, Envelope, Hints, Nic, NicConfig, Selector, SourceSel, TagSel};

const COMM: CommId = CommId(0);

#[test]
fn messages_without_a_receive_are_counted_once() {
    let config = NicConfig { bins: 1, communicators: 1, ..NicConfig::default() };
    let mut nic = Nic::new(&config).expect("a NIC");
    nic.host.create(COMM, 1, Hints::default(), 0).expect("room for a command");
    let envelope = Envelope { comm: COMM, ..Envelope::default() };
    let any = Selector { source: SourceSel::Any, tag: TagSel::Any };
    // Blocks of two messages, of three, and of one after two were received.
    for (messages, received) in [(2, 0), (3, 2), (1, 1)] {
        for _ in 0..messages {
            nic.sender.try_send(envelope, &[1; 8], 0).expect("room for a message");
        }
        nic.leader.round(1);
        for _ in 0..received {
            nic.host.post(COMM, any, vec![0; 8], 0).expect("room for a command");
        }
        nic.leader.round(1);
    }
    let counts = nic.leader.monitor().counts().boundary;
    assert_eq!((counts.unexpected, counts.posts, counts.posts_late), (6, 3, 3));
    assert_eq!((counts.unexpected_high, counts.unexpected_bytes_high), (5, 40));
    assert_eq!((counts.posts_admitted, counts.blocks), (0, 3));
}
