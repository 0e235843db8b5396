//! A test as printed by `dpamatch explore --test`.

#[test]
fn this_schedule_gives_the_oracles_result() {
    use dpamatch_explore::*;
    let setup = Setup {
        operations: vec![
            post(0, 0, 0, 7),
            post(1, 0, None, 7),
            arrive(0, 0, 0, 7),
            arrive(1, 0, 0, 7),
            arrive(2, 0, 1, 7),
        ],
        handlers: 4,
        bins: 1,
        fast_path: FastPath::Sequence,
        early_check: false,
        removal: Removal::Lazy,
        domains: Domains::Paper,
        barrier: Barrier::Lanes,
    };
    let expected = Ending {
        matches: vec![(0, 0), (1, 1)],
        posted: vec![],
        unexpected: vec![2],
    };
    let turns = "1x40 0x3";
    let run = replay(&setup, &turns.parse().expect("a schedule"));
    assert_eq!(run.result, Ok(expected), "{}", tell(&run.story(&setup)));
}
