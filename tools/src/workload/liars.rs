//! Senders that lie about the hashes in their headers.

use dpamatch::stream::Event;

use super::order::mix;

/// The events, in which the senders of `percent` per cent of the messages lie. A third of the lies
/// flips the high bits of the hashes, which choose the bin of few, a third the low bits, and a
/// third all.
pub fn lying(
    events: impl Iterator<Item = Event>,
    percent: u32,
    seed: u64,
) -> impl Iterator<Item = Event> {
    events.map(move |mut event| {
        if let Event::Arrive { msg, lie, .. } = &mut event {
            let random = mix(seed ^ mix(msg.0));
            let bits = mix(random) as u32 | 0x0001_8000;
            let bits = match random % 3 {
                0 => bits & 0xffff_0000,
                1 => bits & 0x0000_ffff,
                _ => bits,
            };
            let lies = random >> 32 & 0xffff_ffff;
            *lie = if lies * 100 < u64::from(percent) << 32 {
                bits
            } else {
                0
            };
        }
        event
    })
}

#[cfg(test)]
mod tests {
    use dpamatch::stream::{Generator, Profile};

    use super::*;

    #[test]
    fn so_many_lie_and_nobody_else() {
        let lies = |percent| -> Vec<u32> {
            let events = Generator::new(1, 4000, Profile::Mixed);
            let arrivals =
                lying(events, percent, 1).filter(|it| matches!(it, Event::Arrive { .. }));
            arrivals.map(|event| event.lie()).collect()
        };
        assert!(lies(0).iter().all(|&lie| lie == 0));
        assert!(lies(100).iter().all(|&lie| lie != 0));
        let some = lies(25);
        let share = some.iter().filter(|&&lie| lie != 0).count() as f64 / some.len() as f64;
        assert!((0.2..0.3).contains(&share), "{share}");
        let all = lies(100);
        assert!(all.iter().any(|&lie| lie & 0xffff == 0));
        assert!(all.iter().any(|&lie| lie >> 16 == 0));
    }
}
