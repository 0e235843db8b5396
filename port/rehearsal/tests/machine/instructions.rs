//! Single instructions; `instructions.S` has the results.

use crate::program;
use dpamatch_port::rv64::{Mark, Setup, run};

fn small() -> Setup {
    Setup {
        memory: 1 << 16,
        limit: 100_000,
        ..Setup::default()
    }
}

#[test]
fn instructions_do_what_the_manual_says() {
    let image = program("instructions");
    assert_eq!(
        run(&image, &small()).end,
        Ok(0),
        "number of the row with another result"
    );
}

/// Marks open phases; a held phase ignores them; marks do not count as instructions.
#[test]
fn what_is_done_is_counted_by_phase() {
    let image = program("counted");
    let marks = vec![
        Mark::Ignore,
        Mark::CountFrom,
        Mark::CountTo,
        Mark::Enter(3),
        Mark::Hold(4),
        Mark::Leave(5),
    ];
    let outcome = run(&image, &Setup { marks, ..small() });
    let [third, fourth, fifth] = [3, 4, 5].map(|phase| outcome.counts[0][phase]);
    assert_eq!(
        (
            third.instructions,
            third.stores,
            third.byte_stores,
            third.loads,
            third.entered
        ),
        (3, 1, 1, 1, 1)
    );
    assert_eq!(
        (
            fourth.instructions,
            fourth.fences,
            fourth.atomics,
            fourth.entered
        ),
        (3, 1, 1, 1)
    );
    assert_eq!((fifth.instructions, fifth.divisions), (1, 1));
    assert_eq!(outcome.counts[0][0].instructions, 0);
}
