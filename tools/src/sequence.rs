//! Streams as the predictor takes them.

use dpamatch_predict::Sequence;
use dpamatch_vocabulary::Operation;

use dpamatch::stream::Event;

/// Length of a message whose stream does not tell.
const BYTES: u32 = 8;

/// The events as a sequence for `dpamatch_predict`.
///
/// # Errors
/// The first matched probe: which receive takes its message is not in a stream.
pub fn sequence(events: impl IntoIterator<Item = Event>) -> Result<Sequence, Event> {
    let operation = |event: Event| match event.operation(0, BYTES) {
        Operation::Probe { take: true, .. } => Err(event),
        operation => Ok(operation),
    };
    events.into_iter().map(operation).collect::<Result<_, _>>().map(Sequence::new)
}
