//! Writes the matching of a replay to a file.

use super::program::{UNKNOWN, UNKNOWN_BYTES};
use super::run::Run;

/// Writes the matching of a replay, one line per pair, ordered by communicator, sender, receiver,
/// tag and posting.
///
/// Columns: the communicator's number in the receiver's trace; receiver and its operation; sender
/// and its operation; tag; bytes (from the status, else as sent); source and tag as posted. Ranks
/// are world ranks, except the posted source. Operations count a rank's sends, receives and
/// successful probes in posting order. Pairs without recorded send are left out.
pub fn pairs(
    run: &Run,
    receives: &[Vec<u32>],
    out: &mut dyn std::io::Write,
) -> std::io::Result<()> {
    let mut rows = Vec::new();
    for (view, receives) in run.views().zip(receives) {
        for (message, &receive) in view.inbound.iter().zip(receives) {
            if receive != UNKNOWN && message.op != UNKNOWN {
                let number = view
                    .program
                    .comm_number(view.program.transfers.at(receive).comm);
                rows.push((
                    number,
                    message.sender,
                    view.program.rank,
                    message.tag,
                    receive,
                    message.op,
                    view.at,
                ));
            }
        }
    }
    // The k-th receive of a key got its k-th message, so ordering one orders the other.
    rows.sort_unstable();
    writeln!(
        out,
        "comm,recv_rank,recv_op,send_rank,send_op,tag,bytes,posted_src,posted_tag"
    )?;
    for (number, sender, receiver, tag, receive, op, at) in rows {
        let transfer = run.programs[at].transfers.at(receive);
        let sent = run.program_of(sender);
        let sent = sent.map_or(UNKNOWN_BYTES, |sender| {
            run.programs[sender].transfers.at(op).bytes
        });
        let bytes = if transfer.got_bytes == UNKNOWN_BYTES {
            sent
        } else {
            transfer.got_bytes
        };
        let bytes = if bytes == UNKNOWN_BYTES {
            String::new()
        } else {
            bytes.to_string()
        };
        writeln!(
            out,
            "{number},{receiver},{receive},{sender},{op},{tag},{bytes},{},{}",
            transfer.peer, transfer.tag
        )?;
    }
    Ok(())
}
