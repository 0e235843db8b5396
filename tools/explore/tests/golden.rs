//! Explorations with all that they report: a digest of each section, and one section in full.
//!
//! The test writes the full report to cargo's folder for tests. `UPDATE_EXPECT=1` rewrites the
//! digests. Rules are removed for the whole process, so this file has only one test.

use std::fmt::Write;
use std::path::Path;

use dpamatch_explore::{
    Barrier, Domains, Ending, FastPath, Page, Removal, Report, Run, Setup, Turns, arrive,
    break_rule, cancel, every, explore, faults, keep_rules, post, replay, shorten, tell, test_text,
};
use dpamatch_needs::digests;
use dpamatch_vocabulary::Operation;
use expect_test::expect;

/// Names that fall, two communicators, all kinds of receives, cancels and late receives.
fn everything() -> Vec<Operation> {
    let any = None::<u32>;
    let posts = [
        (39, any, 7.into()),
        (38, 5.into(), any),
        (37, 5.into(), 7.into()),
        (36, any, any),
    ];
    let mut operations: Vec<Operation> = posts
        .into_iter()
        .map(|(recv, source, tag)| post(recv, 1, source, tag))
        .collect();
    operations.extend([post(90, 0, 3, 2), post(35, 1, 5, 7), cancel(36), cancel(77)]);
    operations.extend([29, 28, 27, 26].map(|msg| arrive(msg, 1, 5, 7)));
    operations.extend([
        arrive(25, 0, 3, 4),
        arrive(24, 1, 6, 8),
        arrive(23, 1, 5, 9),
    ]);
    operations.extend([
        post(34, 1, 6, any),
        post(33, 0, any, 4),
        post(32, 0, 3, any),
    ]);
    operations.extend([
        arrive(22, 0, 3, 2),
        arrive(21, 0, 4, 2),
        arrive(20, 0, 3, 9),
    ]);
    let most = i32::MAX.unsigned_abs();
    operations.extend([post(31, 1, most, most), arrive(19, 1, most, most)]);
    operations
}

/// A forced handler that loses its receive.
fn forced() -> Vec<Operation> {
    let posts = [post(4, 0, 0, 7), post(3, 0, None, 7)];
    posts
        .into_iter()
        .chain([(9, 0), (8, 0), (7, 1)].map(|(msg, source)| arrive(msg, 0, source, 7)))
        .collect()
}

/// A run of receives, and one more message than they take.
fn sequence() -> Vec<Operation> {
    let posts = [5, 2, 4, 1].map(|recv| post(recv, 0, 0, 7));
    posts
        .into_iter()
        .chain([15, 11, 14, 12, 13].map(|msg| arrive(msg, 0, 0, 7)))
        .collect()
}

fn setup(operations: Vec<Operation>) -> Setup {
    Setup {
        operations,
        handlers: 4,
        bins: 4,
        fast_path: FastPath::Sequence,
        early_check: false,
        removal: Removal::Lazy,
        domains: Domains::Paper,
        barrier: Barrier::Lanes,
    }
}

/// The result of the schedule without preemptions.
fn expected(setup: &Setup) -> Ending {
    replay(setup, &Turns::default()).result.expect("an ending")
}

fn described(out: &mut String, setup: &Setup, run: &Run) -> std::fmt::Result {
    writeln!(out, "turns {}\n{:?} {:?}", run.turns, run.result, run.bins)?;
    out.push_str(&tell(&run.story(setup)));
    Ok(())
}

fn counted(out: &mut String, report: &Report) -> std::fmt::Result {
    let Report {
        schedules,
        violations,
        bounds,
        cut_short,
        ..
    } = report;
    writeln!(
        out,
        "{schedules} schedules, {violations} violations, {bounds:?}, {cut_short}"
    )?;
    report
        .paths
        .iter()
        .try_for_each(|(path, count)| writeln!(out, "{count:>4} {path}"))
}

type Change = fn(&mut Setup);

fn schedules(out: &mut String) -> std::fmt::Result {
    let changes: [(&str, Change); 12] = [
        ("as it is", |_| ()),
        ("off", |setup| setup.fast_path = FastPath::Off),
        ("literal", |setup| setup.fast_path = FastPath::Literal),
        ("prefix", |setup| setup.fast_path = FastPath::Prefix),
        ("early check", |setup| setup.early_check = true),
        ("off, early check", |setup| {
            (setup.fast_path, setup.early_check) = (FastPath::Off, true)
        }),
        ("eager removal", |setup| setup.removal = Removal::Eager),
        ("domains", |setup| setup.domains = Domains::Keyed),
        ("bitmap", |setup| setup.barrier = Barrier::Bitmap),
        ("one bin", |setup| setup.bins = 1),
        ("two handlers", |setup| setup.handlers = 2),
        ("seven handlers", |setup| setup.handlers = 7),
    ];
    for (name, operations) in [("everything", everything()), ("a sequence", sequence())] {
        for (change, apply) in changes {
            let mut setup = setup(operations.clone());
            apply(&mut setup);
            writeln!(out, "\n# {name}, {change}")?;
            let expected = expected(&setup);
            let report = explore(&setup, &expected, 7, 60, false);
            counted(out, &report)?;
            described(out, &setup, report.last.as_ref().expect("a right one"))?;
        }
    }
    writeln!(out, "\n# A wrong result")?;
    let setup = self::setup(everything());
    let right = expected(&setup);
    for (first, stops) in [(5, true), (3, false), (90, false)] {
        let wrong = Ending {
            posted: vec![first],
            ..right.clone()
        };
        let report = explore(&setup, &wrong, first, 20, stops);
        counted(out, &report)?;
        let found = report.violation.expect("it is wrong");
        let length = (found.run.turns.len(), found.run.told.len());
        writeln!(
            out,
            "{:?} {length:?} {} {:?}",
            found.seed,
            found.what,
            report.last.is_some()
        )?;
        let short = shorten(
            &setup,
            &wrong,
            &explore(&setup, &wrong, 1, 1, true)
                .violation
                .expect("wrong"),
        );
        writeln!(out, "{} {}", short.run.turns.is_empty(), short.what)?;
    }
    let small = |operations| Setup {
        handlers: 3,
        ..self::setup(operations)
    };
    for (bound, most) in [(0, 99), (1, 40), (1, 5000), (0, 2), (0, 3)] {
        let setup = small(forced());
        writeln!(out, "\n# Every schedule up to {bound}, at most {most}")?;
        counted(out, &every(&setup, &expected(&setup), bound, most))?;
        let setup = small(sequence());
        counted(out, &every(&setup, &expected(&setup), bound, most))?;
    }
    writeln!(out, "\n# Turns")?;
    for turns in ["", "1x3 0", "0x40 2x2 1x9", "2x1 1x1 2x1 0x1", "5x1"] {
        let setup = small(forced());
        writeln!(out, "{turns}:")?;
        described(out, &setup, &replay(&setup, &turns.parse().expect("turns")))?;
    }
    for bad in ["1x", "x1", "1x0", "1y3", "-1x2", "1x2,2x3"] {
        writeln!(out, "{}", bad.parse::<Turns>().expect_err(bad))?;
    }
    Ok(())
}

fn stories(out: &mut String) -> std::fmt::Result {
    let setup = Setup {
        domains: Domains::Keyed,
        removal: Removal::Eager,
        ..setup(everything())
    };
    let expected = expected(&setup);
    let run = explore(&setup, &expected, 11, 1, false)
        .last
        .expect("a right one");
    for block in 0..5 {
        let story = run.story(&setup).from_block(block);
        writeln!(out, "# From block {block}, {} handlers", story.handlers)?;
        out.push_str(&tell(&story));
        writeln!(out, "{:?}\n{:?}", story.receives, story.messages)?;
        for scene in story.scenes.iter().filter(|_| block < 2) {
            writeln!(out, "{}", serde_json::to_string(scene).expect("JSON"))?;
        }
    }
    // More receives than a page shows, and more facts than a sentence lists.
    let mut many: Vec<Operation> = (0..40).map(|recv| post(recv, 0, 0, 7)).collect();
    many.extend((0..3).map(|msg| arrive(msg, 0, 0, 7)));
    many.extend([50, 53, 52].map(|recv| post(recv, 0, 1, 1)));
    many.extend([30, 38].map(cancel));
    many.extend((10..12).map(|msg| arrive(msg, 0, 2, 2)));
    many.extend((0..9).rev().map(|at| post(60 + at * at, 0, 3, 1)));
    many.push(arrive(9, 0, 0, 7));
    let setup = self::setup(many);
    let run = replay(&setup, &Turns::default());
    let mut story = run
        .story(&setup)
        .titled("Many".to_owned(), "</script>".to_owned(), true);
    out.push_str(&tell(&story));
    story.scenes.truncate(8);
    let page = Page {
        title: "T".to_owned(),
        source: "S".to_owned(),
        stories: vec![story],
    };
    let page = page.html();
    writeln!(
        out,
        "{}",
        page.lines()
            .find(|line| line.contains("\"stories\":"))
            .expect("data")
    )
}

fn broken(out: &mut String) -> std::fmt::Result {
    let streams = [forced(), sequence(), everything()];
    assert!(!break_rule("no-rule"));
    for (rule, about) in faults() {
        writeln!(out, "\n# {rule}: {about}")?;
        for (number, operations) in streams.iter().enumerate() {
            let setup = Setup {
                early_check: number == 1,
                ..setup(operations.clone())
            };
            keep_rules();
            let expected = expected(&setup);
            assert!(break_rule(&rule), "{rule}");
            let report = explore(&setup, &expected, 1, 60, true);
            let Some(found) = &report.violation else {
                continue;
            };
            writeln!(
                out,
                "stream {number}, seed {:?} of {}",
                found.seed, report.schedules
            )?;
            writeln!(out, "{}\n{}", found.run.turns, found.what)?;
            let short = shorten(&setup, &expected, found);
            let turns = &short.run.turns;
            writeln!(
                out,
                "{turns} ({}, {})\n{}",
                turns.len(),
                turns.is_empty(),
                short.what
            )?;
            if number == 0 {
                out.push_str(&test_text(&setup, &expected, turns, Some(&rule)));
            }
            keep_rules();
            assert_eq!(replay(&setup, turns).result, Ok(expected), "{rule}");
            break;
        }
    }
    keep_rules();
    let setup = Setup {
        early_check: true,
        domains: Domains::Keyed,
        ..setup(everything())
    };
    let turns = "1x2 3".parse().expect("turns");
    writeln!(
        out,
        "\n{}",
        test_text(&setup, &expected(&setup), &turns, None)
    )
}

type Part = fn(&mut String) -> std::fmt::Result;

#[test]
fn all_that_is_reported_is_as_written_down() {
    let parts: [(_, Part, _); 3] = [
        (
            "schedules",
            schedules,
            expect![[r#"
             | 1 | cbf29ce484222325
            everything, as it is | 78 | cf1fc9a99dcff55a
            everything, off | 78 | 337d9ba3494faf50
            everything, literal | 77 | 68a08f4818295f38
            everything, prefix | 78 | cf1fc9a99dcff55a
            everything, early check | 77 | 2739d367ba1793a3
            everything, off, early check | 77 | 2739d367ba1793a3
            everything, eager removal | 77 | 52bb7636b9164820
            everything, domains | 66 | d015f122f731efb1
            everything, bitmap | 77 | 01f9ee66575ba110
            everything, one bin | 78 | bcf95864a8b0988b
            everything, two handlers | 82 | bc3bf65662c90bf9
            everything, seven handlers | 80 | 278efaec3dbb4911
            a sequence, as it is | 40 | fc5ae3b84b7c00a0
            a sequence, off | 47 | 21dc8eca7a4924b2
            a sequence, literal | 51 | 6965157a7da61e4e
            a sequence, prefix | 48 | 8cb86037ba56d942
            a sequence, early check | 41 | cb747f9460be8db9
            a sequence, off, early check | 45 | e40106edd186ff54
            a sequence, eager removal | 39 | 3a39ab762a4928db
            a sequence, domains | 33 | 30979e9ba9614d03
            a sequence, bitmap | 39 | 9284ec9c333842a0
            a sequence, one bin | 40 | 3ca7991ed5ec46ca
            a sequence, two handlers | 43 | 671a0490e8004c16
            a sequence, seven handlers | 44 | 71f88ba3de07a6b0
            A wrong result | 15 | 8c8ecca4dd53ca9a
            Every schedule up to 0, at most 99 | 7 | 3fae45f60b293b58
            Every schedule up to 1, at most 40 | 9 | e36f99bd090cd4fc
            Every schedule up to 1, at most 5000 | 12 | 0783af9268e01892
            Every schedule up to 0, at most 2 | 7 | 3fae45f60b293b58
            Every schedule up to 0, at most 3 | 7 | 3fae45f60b293b58
            Turns | 116 | 94a2223fb55eec16
        "#]],
        ),
        (
            "scenes",
            stories,
            expect![[r#"
            From block 0, 4 handlers | 122 | 7c74259fd8420bab
            From block 1, 3 handlers | 66 | f0381b53aa7b968c
            From block 2, 3 handlers | 24 | 147f98b3260c8ccb
            From block 3, 3 handlers | 9 | 675a6379a7c9abd4
            From block 4, 0 handlers | 41 | 6e058ba63ba2eb64
        "#]],
        ),
        (
            "broken",
            broken,
            expect![[r#"
             | 1 | cbf29ce484222325
            search-takes-consumed: The search takes a receive that was consumed. | 35 | 0a4197a5fe7ec7b5
            search-takes-first-index: Of the candidates of several indexes the first is taken, not the oldest (O11). | 6 | e47f76c4653910f0
            booking-missing: No bit is set in the booking bitmap (O10). | 1 | cbf29ce484222325
            barrier-missing: The partial barrier is left out (O12). | 35 | 14beb91da138ce63
            barrier-previous-only: It waits for the worker before only. | 35 | f3847b5a3c246bba
            barrier-short: It leaves out the worker before. | 35 | 46e81ff46483d7fa
            bits-kept: The bits of an earlier block stay set. | 1 | cbf29ce484222325
            forcing-ignored: Only a handler with its own conflict resolves (O14). | 35 | c5c75b0f433ecc56
            conflict-previous-only: A conflict is seen only with the handler before (O13). | 6 | d586b4fbbb626f86
            fast-off-by-one: The fast path takes the receive one further than its own (O16). | 6 | 4dfe3fa7d2fc040e
            fast-by-hops: The fast path counts hops along the chain, not labels (S9). | 1 | cbf29ce484222325
            fast-ignores-sequence: The fast path leaves the sequence (O17). | 1 | cbf29ce484222325
            fast-by-any: Every handler in conflict may take the fast path (S8). | 1 | cbf29ce484222325
            fast-literal-unbooked: Form (a) does not look at the booking bitmap (S8). | 1 | cbf29ce484222325
            fast-counts-all-communicators: The shift counts the handlers of other communicators, too (S25). | 1 | cbf29ce484222325
            domains-always-exact: Domains are always determined by source and tag. | 1 | cbf29ce484222325
            domain-keys-swapped: The keys of the two classes with one wildcard are swapped. | 1 | cbf29ce484222325
            domains-before-posts: Domains are determined by the classes that were posted before the last posts. | 1 | cbf29ce484222325
            domains-by-hash: Domains are determined by the sender's hash. | 1 | cbf29ce484222325
            domains-of-all-communicators: Messages of different communicators can be of one domain, and count in its ranks. | 1 | cbf29ce484222325
            domain-rank-in-block: The fast path counts all lower handlers of the block, not those of the domain. | 1 | cbf29ce484222325
            domain-run-among-classes: The fast path in a run of a chain, although receives of several classes are posted. | 1 | cbf29ce484222325
            domain-run-by-hops: The fast path in a run of a chain counts hops, not places. | 1 | cbf29ce484222325
            domain-keys-kept: Keys stay when the block numbers in them come round. | 1 | cbf29ce484222325
            runs-by-bin: A run of a chain goes on with a receive of another selector. | 1 | cbf29ce484222325
            domain-barrier-missing: A handler does not wait until the lower ones of its domain have booked. | 1 | cbf29ce484222325
            domain-slow-no-wait: The slow path in a domain does not wait for its lower handlers. | 1 | cbf29ce484222325
            domain-chain-broken: Without a fast path it waits for the handler before, even one without a candidate. | 1 | cbf29ce484222325
            domain-chain-always: It waits for the handler before only, although that one may have taken the fast path. | 1 | cbf29ce484222325
            slow-no-wait: The slow path does not wait (S13). | 35 | d38de768acd8776c
            slow-previous-only: The slow path waits for the worker before only (S13). | 1 | cbf29ce484222325
            slow-keeps-own: The slow path keeps the own candidate whoever took it (S13). | 35 | 542ae9626c42ecd0
            in-order-keeps-taken: In order: a handler keeps its candidate although a lower one took it (S13). | 1 | cbf29ce484222325
            matched-before-mark: A slice says that it is matched before its last receive is marked (S13). | 35 | 29863b95f9312d2d
            slow-early-check: The slow path skips receives that lower handlers booked (S16). | 35 | ebae367292a0bcdb
            overtake-torn: Overtaking handlers look and then take, in two steps (S24). | 1 | cbf29ce484222325
            unlink-without-lock: A receive is unlinked without the bin's lock (O28). | 6 | 2b3880f9bc538488
            unlinked-loses-next: An unlinked receive forgets its successor while others may still visit it (S17). | 6 | 4a8273a8cce7709b
            unexpected-reversed: Unexpected messages of a block are stored from the last to the first (S14). | 1 | cbf29ce484222325
            fence-missing: The next block starts while workers are still in this one (S1). | 35 | fa5a34104e62fbd3
            fence-matched-only: It starts once all are matched, not once all data has moved (K3). | 35 | 9f1b33b9cc1aaa71
            post-inside-block: Commands are executed while a block runs (S12). | 1 | cbf29ce484222325
            look-after-admit: Commands are admitted before the look at the completion queue. | 1 | cbf29ce484222325
            cut-past-commands: A block is cut although commands wait for room in the completion ring. | 1 | cbf29ce484222325
            label-too-early: A receive that takes an unexpected message gets a label, too (S10). | 1 | cbf29ce484222325
            cancel-keeps-sequence: A cancel leaves the later receives in the sequence (S11). | 1 | cbf29ce484222325
            fallback-forgotten: After a refused post later ones are taken again (S20). | 1 | cbf29ce484222325
            hand-back-unchecked: A fallback ends although more was sent on to the host since it asked (S20). | 1 | cbf29ce484222325
            probe-keeps-taken: A matched probe leaves the message for others. | 35 | 49c39c7af2471ccc
            back-pressure-ignored: A message is matched although nothing can take it (S21). | 1 | cbf29ce484222325
            owner-bit-first: The owner bit is written before the entry (O20). | 1 | cbf29ce484222325
            owner-bit-constant: The owner bit is the same on every pass. | 1 | cbf29ce484222325
            full-ignored: A sender does not look whether the queue is full. | 1 | cbf29ce484222325
            sure-too-far: A sender takes one position more for free than its queue has places. | 1 | cbf29ce484222325
            claim-torn: Several senders claim a position in two steps. | 1 | cbf29ce484222325
            queue-taken-twice: Two senders take the same queue for themselves. | 1 | cbf29ce484222325
            tail-kept: A sender that leaves its queue keeps its count of positions for itself. | 1 | cbf29ce484222325
            command-released-early: Commands are given back before they are read. | 1 | cbf29ce484222325
            command-released-in-use: A command is given back while it is still being read. | 1 | cbf29ce484222325
            arrival-released-early: Messages are given back before the block runs. | 1 | cbf29ce484222325
            fin-before-read: A sender gets its buffer back before it was read (O21). | 1 | cbf29ce484222325
            kept-after-release: A longer message is copied out of its bounce buffer after its entry was given back (S14). | 1 | cbf29ce484222325
            drain-released-in-use: The drain gives an entry back before it passes its message on. | 1 | cbf29ce484222325
            offer-before-receives: The host offers a communicator before the receives that it still has (S20). | 1 | cbf29ce484222325
            kept-slot-freed: A slot is free again while it keeps the buffer of an ended receive. | 1 | cbf29ce484222325
            drop-torn: Dropped messages are put on their list in two steps. | 48 | 817aefdfce4aa33f
        "#]],
        ),
    ];
    for (name, part, expected) in parts {
        let mut found = String::new();
        part(&mut found).expect("a string takes it");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.txt"));
        std::fs::write(&path, &found).expect("written");
        expected.assert_eq(&digests(&found));
        if name == "scenes" {
            let block = found
                .split("# ")
                .find(|text| text.starts_with("From block 3"));
            expect![[r#"
                From block 3, 3 handlers
                   1  message 21 is stored as unexpected; receive 31 is posted
                   2  block: message 19
                   3  handler 0 searches and finds receive 31
                   4  handler 0 is at the barrier
                   5  handler 0 is the first of its domain: no conflict up to here
                   6  handler 0 is clean and takes receive 31
                   7  handler 0 takes receive 31 out of its chain
                [Receive { name: 90, accepts: "communicator 0, source 3, tag 2", index: "exact" }, Receive { name: 32, accepts: "communicator 0, source 3, any tag", index: "any tag" }, Receive { name: 31, accepts: "communicator 1, source 2147483647, tag 2147483647", index: "exact" }]
                [Message { name: 22, carries: "communicator 0, source 3, tag 2" }, Message { name: 21, carries: "communicator 0, source 4, tag 2" }, Message { name: 20, carries: "communicator 0, source 3, tag 9" }, Message { name: 23, carries: "communicator 1, source 5, tag 9" }, Message { name: 19, carries: "communicator 1, source 2147483647, tag 2147483647" }]
            "#]].assert_eq(block.expect("a story"));
        }
    }
}
