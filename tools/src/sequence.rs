//! Streams as the predictor takes them.

use dpamatch_predict::Sequence;

use dpamatch::stream::Event;

/// Length of a message whose stream does not tell.
const BYTES: u64 = 8;

/// The events as a sequence for `dpamatch_predict`.
///
/// # Errors
/// The first matched probe: which receive takes its message is not in a stream.
pub fn sequence(events: impl IntoIterator<Item = Event>) -> Result<Sequence, Event> {
    events.into_iter().map(predicted).collect::<Result<_, _>>().map(Sequence::new)
}

fn predicted(event: Event) -> Result<dpamatch_predict::Event, Event> {
    use dpamatch_predict::Event as Predicted;
    Ok(match event {
        Event::Post { recv, comm, selector, .. } => {
            Predicted::Post { receive: recv.0, comm, selector }
        }
        Event::Arrive { msg, envelope, bytes, .. } => Predicted::Arrive {
            message: msg.0,
            envelope,
            bytes: u32::try_from(bytes.unwrap_or(BYTES)).unwrap_or(u32::MAX),
        },
        Event::Cancel { recv } => Predicted::Cancel { receive: recv.0 },
        Event::Probe { comm, selector, .. } => Predicted::Probe { comm, selector },
        Event::Mprobe { .. } => return Err(event),
    })
}
