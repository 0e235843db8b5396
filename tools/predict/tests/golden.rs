//! Runs in virtual time with all that they report: a digest of each section, and one section in
//! full. The numbers of the card all differ, so that a number in another's place shows.
//!
//! A test writes its full report to cargo's folder for tests. `UPDATE_EXPECT=1` rewrites digests.

use std::fmt::Write;
use std::path::Path;

use dpamatch_needs::digests;
use dpamatch_predict::calibrate::{self, Measured, calibrate};
use dpamatch_predict::figure8::{CHOICES, Point, Use, mape, points};
use dpamatch_predict::sensitivity::{held_out, scaled, sensitivity};
use dpamatch_predict::{
    Barrier, BlockBegin, BlockEnd, Domains, FastPath, Level, LineKind, Offer, Overlap, Part,
    Pattern, Phase, Placement, Profile, Removal, Sequence, Setup, band, limits, override_text,
    predict, sdr, series, simulate, story, write_chrome,
};
use dpamatch_vocabulary::{
    CommId, Envelope, MsgId, Operation, PaperWorkload, ProbeId, Rank, RecvId, Selector, SourceSel,
    Tag, TagSel,
};
use expect_test::expect;

const NAMES: [&str; 2] = ["bluefield3", "bluefield3-instructions"];

fn text(name: &str) -> &'static str {
    Profile::text(name).expect("built in")
}

fn read(text: &str, overrides: &[String]) -> Profile {
    Profile::read(text, overrides).expect("a good profile")
}

/// A profile's numbers, each changed by another share of itself, as overrides.
fn odd(profile: &str) -> Vec<String> {
    let numbers = read(text(profile), &[]).numbers().into_iter().enumerate();
    let kept = [
        "eus.usable",
        "eus.issue_slots",
        "rules.walk_line",
        "driver.window",
    ];
    // Not every profile has counted instructions.
    let has = |name: &str| {
        name.split_once('.')
            .is_some_and(|(table, _)| text(profile).contains(&format!("[{table}]")))
    };
    let changed = numbers.filter(|(_, (name, _))| !kept.contains(&name.as_str()) && has(name));
    changed
        .map(|(at, (name, value))| match name.as_str() {
            "eus.issue_demand" => format!("{name}=0.31"),
            "word.poll_demand" => format!("{name}=0.27"),
            name if value == 0.0 => format!("{name}=0.{at}"),
            name => scaled(name, value, 1.0 + 0.013 * (at as f64 + 1.0)),
        })
        .collect()
}

fn tag(number: u32) -> Tag {
    Tag::new(number).expect("a tag")
}

fn source(number: u32) -> Rank {
    Rank::new(number).expect("a rank")
}

fn post(receive: u64, source: impl Into<SourceSel>, tag: impl Into<TagSel>) -> Operation {
    let selector = Selector::new(source, tag);
    Operation::Post {
        recv: RecvId(receive),
        comm: CommId(5),
        selector,
        bytes: 0,
    }
}

fn arrive(message: u64, from: u32, number: u32, bytes: u32) -> Operation {
    let envelope = Envelope {
        comm: CommId(5),
        source: source(from),
        tag: tag(number),
    };
    Operation::Arrive {
        msg: MsgId(message),
        envelope,
        bytes,
    }
}

/// All that an endpoint does: wildcards, conflicts, late receives, cancels, probes, and messages of
/// three kinds of length.
fn everything() -> Vec<Operation> {
    let number = |at: u64| (at * 7 % 5) as u32;
    let mut events: Vec<Operation> = (0..12).map(|at| post(at, source(3), TagSel::Any)).collect();
    let lengths = [8, 400, 5000, 0, 65];
    events.extend((0..15).map(|at| arrive(at, 3, number(at), lengths[at as usize % 5])));
    events.extend(
        (20..29)
            .rev()
            .map(|at| post(at, SourceSel::Any, tag(number(at)))),
    );
    events.push(Operation::Cancel { recv: RecvId(27) });
    let probe = |number, take| Operation::Probe {
        probe: ProbeId(number),
        comm: CommId(5),
        selector: Selector::new(SourceSel::Any, TagSel::Any),
        take,
    };
    events.extend([probe(1, false), probe(2, true)]);
    events.extend((40..60).map(|at| post(at, source(number(at / 2) % 2), tag(at as u32 / 4 % 2))));
    events.extend((30..62).map(|at| arrive(at, at as u32 % 2, at as u32 / 3 % 2, 8)));
    events
}

/// The counts that are not 0.
fn counts(rows: &[(&str, u64)]) -> String {
    let rows = rows.iter().filter(|(_, count)| *count > 0);
    rows.map(|(name, count)| format!(" {name}={count}"))
        .collect()
}

fn described(out: &mut String, part: &Part) -> std::fmt::Result {
    let Part {
        messages,
        time,
        begin,
        outcome,
        handlers,
        boundary,
        matches,
    } = part;
    writeln!(
        out,
        "{messages} messages, {time} ps from {begin} to {}",
        outcome.end
    )?;
    let latency = part.latency_us();
    let sums = (
        part.rate(),
        latency,
        part.waited(),
        part.sent_on(),
        part.count("slow"),
    );
    writeln!(out, "rate, latency, waited, sent on, slow: {sums:?}")?;
    let pairs = matches
        .iter()
        .map(|(receive, message)| format!(" {receive}:{message}"));
    writeln!(out, "matches{}", pairs.collect::<String>())?;
    writeln!(out, "boundary{}", counts(boundary))?;
    for (handler, rows) in handlers.iter().enumerate().filter(|(at, _)| *at < 4) {
        writeln!(out, "handler {handler}{}", counts(rows))?;
    }
    for (number, eu) in outcome.eus.iter().enumerate().filter(|(at, _)| *at < 4) {
        write!(out, "EU {number} core {} free at {}", eu.core, eu.free_at)?;
        write!(
            out,
            ", {} executions, empty {}",
            eu.executions, eu.polls_empty
        )?;
        write!(
            out,
            ", waiting {}, domain {}",
            eu.polls_waiting, eu.in_domain
        )?;
        write!(
            out,
            " {}, latency {} {}",
            eu.first_of_domain, eu.latency, eu.latency_max
        )?;
        writeln!(
            out,
            ", {} instructions, busy {}",
            eu.instructions,
            eu.time.busy()
        )?;
        writeln!(out, "  {:?}", eu.time)?;
    }
    for (kind, name) in LineKind::NAMED {
        let all = outcome.eus.iter().map(|eu| eu.accesses[kind as usize]);
        let mut sum = all.clone().next().expect("an EU");
        for more in all.skip(1) {
            sum.found
                .iter_mut()
                .zip(more.found)
                .for_each(|(sum, more)| *sum += more);
            sum.handed_over += more.handed_over;
            sum.outside += more.outside;
            sum.time += more.time;
        }
        if sum.time > 0 {
            let beyond = (sum.handed_over, sum.outside, sum.time);
            writeln!(out, "{name}: {:?} {beyond:?}", sum.found)?;
        }
    }
    Ok(())
}

type Change = fn(&mut Setup);

/// What is changed in the set-up of a run, one at a time.
fn changes() -> Vec<(&'static str, Change)> {
    vec![
        ("as it is", |_| ()),
        ("off", |setup| setup.fast_path = FastPath::Off),
        ("off, early check", |setup| {
            (setup.fast_path, setup.early_check) = (FastPath::Off, true)
        }),
        ("literal", |setup| setup.fast_path = FastPath::Literal),
        ("sequence", |setup| setup.fast_path = FastPath::Sequence),
        ("no hashes in the header", |setup| {
            setup.inline_hashes = false
        }),
        ("lazy", |setup| setup.removal = Removal::Lazy),
        ("eager", |setup| setup.removal = Removal::Eager),
        ("domains", |setup| setup.domains = Domains::Keyed),
        ("domains and lanes", |setup| {
            (setup.domains, setup.profile.nic.barrier) = (Domains::Keyed, Barrier::Lanes);
        }),
        ("512 bytes are eager", |setup| setup.eager_limit = 512),
        ("65 bytes are eager", |setup| setup.eager_limit = 65),
        ("8192 bytes are eager", |setup| setup.eager_limit = 8192),
        ("commands are free", |setup| setup.charge_commands = false),
        ("one bin", |setup| setup.bins = 1),
        ("eight receives", |setup| setup.receives = 8),
        ("lanes", |setup| setup.profile.nic.barrier = Barrier::Lanes),
        ("spread", |setup| {
            setup.profile.rules.placement = Placement::Spread
        }),
        ("packed", |setup| {
            setup.profile.rules.placement = Placement::Packed
        }),
        ("overlap of all", |setup| {
            setup.profile.rules.overlap = Overlap::Always
        }),
        ("no overlap", |setup| {
            setup.profile.rules.overlap = Overlap::Never
        }),
        ("the leader ends", |setup| {
            setup.profile.rules.block_end = BlockEnd::Leader
        }),
        ("the leader begins", |setup| {
            setup.profile.rules.block_begin = BlockBegin::Leader
        }),
        ("a walk by threes", |setup| {
            setup.profile.rules.walk_line = 3
        }),
        ("one handler", |setup| setup.handlers = 1),
        ("eight handlers", |setup| setup.handlers = 8),
    ]
}

fn runs(out: &mut String) -> std::fmt::Result {
    for profile in NAMES {
        let base = Setup {
            bins: 16,
            receives: 64,
            charge_commands: true,
            ..Setup::new(read(text(profile), &odd(profile)), 4)
        };
        for (name, change) in changes() {
            if profile != NAMES[0] && !["as it is", "off", "domains"].contains(&name) {
                continue;
            }
            let mut setup = base.clone();
            change(&mut setup);
            writeln!(out, "# {profile}, {name}: all kinds of events")?;
            let events = Sequence::new(everything());
            let parts = simulate(&setup, std::slice::from_ref(&events), 0).expect("a run");
            described(out, &parts[0])?;
            // Each further part of a machine begins with warm caches.
            let equal = Sequence::window(Pattern::Equal, 17, 8);
            let mixed = Sequence::window(Pattern::Mixed { equal: 40, seed: 7 }, 33, 70);
            let parts = simulate(&setup, &[mixed.clone(), equal, mixed], 0).expect("a run");
            for part in &parts {
                writeln!(out, "{} ps, {:?}", part.time, part.latency_us())?;
            }
        }
        writeln!(out, "# {profile}: at recorded times")?;
        let events = everything();
        let times = (0..events.len() as u64)
            .map(|at| 100 + at * at * 37)
            .collect();
        described(
            out,
            &simulate(&base, &[Sequence::new(events).at(times)], 0).expect("a run")[0],
        )?;
    }
    Ok(())
}

fn rates(out: &mut String) -> std::fmt::Result {
    let one = |handlers, change: Change| {
        let mut setup = Setup::new(read(text("bluefield3"), &odd("bluefield3")), handlers);
        setup.profile.driver.window = 24;
        change(&mut setup);
        setup
    };
    let mixed = |bytes| Offer::Pattern {
        pattern: Pattern::Mixed { equal: 30, seed: 5 },
        bytes,
    };
    let sequence = Sequence::new(everything());
    let timed = {
        let times = (0..sequence.operations().len() as u64)
            .map(|at| at * 900)
            .collect();
        sequence.clone().at(times)
    };
    let offers = [
        ("mixed", mixed(8)),
        ("long", mixed(9000)),
        ("equal", Offer::pattern(Pattern::Equal)),
        ("everything", Offer::Sequence(sequence)),
        ("timed", Offer::Sequence(timed)),
    ];
    let setups: [(&str, Setup); 4] = [
        ("3 handlers", one(3, |_| ())),
        ("off", one(9, |setup| setup.fast_path = FastPath::Off)),
        ("commands", one(8, |setup| setup.charge_commands = true)),
        ("full", one(4, |setup| setup.receives = 16)),
    ];
    for (name, setup) in &setups {
        for (offered, offer) in &offers {
            let now = predict(setup, offer, 0).expect("a rate");
            let (least, most) = band(setup, offer, now.rate).expect("a band");
            writeln!(
                out,
                "# {name}, {offered}\n{} {:?} {least} {most}",
                now.rate, now.single_us
            )?;
            let gains = limits(setup, offer, &now).expect("gains");
            for gain in gains {
                writeln!(out, "  {}: {}", gain.limit.name(), gain.gain)?;
            }
        }
    }
    writeln!(out, "# A stream, and the paper's workloads")?;
    let stream = one(95, |setup| setup.profile.driver.window = 0);
    let now = predict(&stream, &mixed(8), 0).expect("a rate");
    writeln!(
        out,
        "a stream: {} {:?} {}",
        now.rate, now.single_us, now.part.messages
    )?;
    for workload in PaperWorkload::ALL {
        let (setup, offer) = series(&one(4, |_| ()), *workload);
        let rate = predict(&setup, &offer, 0).expect("a rate").rate;
        writeln!(
            out,
            "{}: {:?} {offer:?} {rate}",
            workload.name(),
            setup.fast_path
        )?;
    }
    Ok(())
}

/// Values around the bounds of the numbers.
const TRIED: &str = "-1 0 9e-7 1e-6 0.009 0.01 0.5 1 1.01 63 64 65 256 257 1000 1001 1024 1025 65536 \
    65537 4194304 4194305 1000000000 1100000000 100000000000 110000000000";

/// Times that, between them, need every number of a profile.
fn times(profile: &Profile) -> [u64; 5] {
    let setup = |handlers, eager_limit, fast_path| Setup {
        bins: 16,
        receives: 64,
        charge_commands: true,
        inline_hashes: false,
        eager_limit,
        fast_path,
        ..Setup::new(profile.clone(), handlers)
    };
    let all = Sequence::new(everything());
    let part = |setup: &Setup, sequence: &Sequence| {
        let parts = simulate(setup, &[sequence.clone(), sequence.clone()], 0).expect("a run");
        parts[1].time
    };
    let most = profile.eus.usable.min(40);
    let full = Setup {
        receives: 8,
        charge_commands: false,
        ..setup(most, 64, FastPath::Prefix)
    };
    let mut packed = setup(most, 64, FastPath::Literal);
    packed.profile.rules.placement = Placement::Packed;
    let window = predict(
        &setup(2, 64, FastPath::Prefix),
        &Offer::pattern(Pattern::Equal),
        0,
    );
    [
        part(&setup(3, 512, FastPath::Off), &all),
        part(&setup(18, 1100, FastPath::Sequence), &all),
        part(&full, &Sequence::window(Pattern::Distinct, 40, 8)),
        part(
            &packed,
            &Sequence::window(Pattern::Mixed { equal: 50, seed: 3 }, 40, 8),
        ),
        window.expect("a rate").part.time,
    ]
}

/// The lines of the profile's text that an override replaces.
fn put(out: &mut String, assignment: &str) -> std::fmt::Result {
    let overrides = [assignment.to_owned()];
    let new = override_text(text(NAMES[1]), &overrides).expect("a good value");
    assert_eq!(
        read(&new, &[]),
        read(text(NAMES[1]), &overrides),
        "{assignment}"
    );
    let lines = new
        .lines()
        .zip(text(NAMES[1]).lines())
        .filter(|(new, old)| new != old);
    writeln!(
        out,
        "{assignment}: {}",
        lines.map(|(new, _)| new).collect::<Vec<_>>().join(" | ")
    )
}

fn profiles(out: &mut String) -> std::fmt::Result {
    writeln!(out, "# Profiles and their costs")?;
    for name in Profile::NAMES {
        let odd = read(text(name), &odd(name));
        for profile in [read(text(name), &[]), odd] {
            writeln!(
                out,
                "{} {}: {:?}",
                profile.name,
                profile.version,
                profile.costs()
            )?;
            writeln!(out, "{:?} {:?}", profile.machine_rules(true), profile.nic)?;
        }
    }
    writeln!(
        out,
        "\n# What an override sets, what it takes, and the times that it changes"
    )?;
    let small = [
        "memory.l2_bytes=900",
        "memory.l3_bytes=9000",
        "driver.window=12",
    ];
    let usual: Vec<String> = odd(NAMES[1])
        .into_iter()
        .chain(small.map(str::to_owned))
        .collect();
    let with = |assignment: String| [usual.as_slice(), &[assignment]].concat();
    let base = read(text(NAMES[1]), &usual);
    let before = times(&base);
    for (at, (name, value)) in base.numbers().into_iter().enumerate() {
        let new = match name.as_str() {
            "eus.usable" => format!("{name}=20"),
            "eus.issue_slots" | "rules.walk_line" => format!("{name}=3"),
            name if name.contains("bytes") => scaled(name, value, 0.4),
            name if name.ends_with("demand") => format!("{name}=0.{at}1"),
            name => scaled(name, value.max(1.0), 1.7 + 0.01 * at as f64),
        };
        let profile = read(text(NAMES[1]), &with(new.clone()));
        let changed = profile.numbers().into_iter().zip(base.numbers());
        let changed: Vec<_> = changed
            .filter(|(new, old)| new != old)
            .map(|(new, _)| new)
            .collect();
        let mut taken = TRIED
            .split_whitespace()
            .filter(|value| Profile::read(text(NAMES[1]), &[format!("{name}={value}")]).is_ok());
        let [least, most] = [taken.clone().next(), taken.next_back()];
        let after = times(&profile);
        assert_ne!(after, before, "{name}");
        put(out, &new)?;
        writeln!(out, "  {changed:?}, takes {least:?} to {most:?}, {after:?}")?;
    }
    for rule in [
        "nic.barrier=lanes",
        "rules.placement=packed",
        "rules.overlap=never",
        "rules.overlap=always",
        " rules.block_end = leader ",
        "rules.block_begin=leader",
    ] {
        put(out, rule)?;
        let profile = read(text(NAMES[1]), &[rule.to_owned()]);
        writeln!(
            out,
            "  {:?} {:?}",
            profile.machine_rules(false),
            profile.nic
        )?;
    }
    writeln!(out, "\n# What no override takes")?;
    for bad in [
        "memory.l2_ns=-1",
        "eus.issue_demand=2",
        "work.poll_ns=soon",
        "nic.barrier=maybe",
        "eus.usable=0",
        "eus.usable=1.5",
        "nothing",
        "memory.l9_ns=1",
        "nowhere.l2_ns=1",
        "driver.window=65537",
        "host.bytes_per_ns=0",
    ] {
        let error = Profile::read(text("generic"), &[bad.to_owned()]).expect_err(bad);
        writeln!(out, "{bad}: {error}")?;
        assert!(
            override_text(text("generic"), &[bad.to_owned()]).is_err(),
            "{bad}"
        );
    }
    writeln!(out, "{}", Profile::text("bluefield4").expect_err("unknown"))?;
    Ok(())
}

fn fits(out: &mut String) -> std::fmt::Result {
    writeln!(out, "# Fits")?;
    writeln!(out, "{CHOICES:?}")?;
    writeln!(
        out,
        "{} {}",
        mape([]),
        mape([(1.0, 2.0), (6.0, 4.0), (3.0, 3.0)])
    )?;
    for point in points() {
        let label = point.series.name();
        writeln!(
            out,
            "{label} {} {} {:?}",
            point.threads, point.rate, point.used
        )?;
    }
    let measured = points().filter(|point| point.used == Use::Fitted);
    let slower = |p: Point| Measured {
        series: p.series,
        threads: p.threads,
        rate: p.rate * 0.9,
    };
    let measured: Vec<_> = measured.map(slower).collect();
    for name in NAMES {
        let setup = Setup::new(read(text(name), &odd(name)), 1);
        writeln!(out, "# {name}\n{:?}", calibrate::fitted(&setup.profile))?;
        writeln!(out, "{:?}", held_out(&setup).expect("errors"))?;
        let (profile, fits) = calibrate(&setup, &measured).expect("a fit");
        for fit in fits {
            writeln!(
                out,
                "{}: {} {:?} {}",
                fit.parameter, fit.value, fit.measured, fit.predicted
            )?;
        }
        let [same, fitted] = [&setup.profile, &profile].map(Profile::numbers);
        let changed = fitted.into_iter().zip(same).filter(|(new, old)| new != old);
        writeln!(out, "{:?}", changed.map(|(new, _)| new).collect::<Vec<_>>())?;
        for threads in [1, 16, 17, 100, 190] {
            writeln!(
                out,
                "{threads} threads: {}",
                sdr::predicted(&setup.profile, threads)
            )?;
        }
    }
    writeln!(out, "# What no fit takes, and sensitivity")?;
    let setup = Setup::new(read(text(NAMES[0]), &[]), 1);
    for without in [0, 1] {
        let mut some = measured.clone();
        some.remove(without);
        writeln!(
            out,
            "{}",
            calibrate(&setup, &some).expect_err("it is needed")
        )?;
    }
    let beyond = [1e6, 1e-6].map(|rate| {
        let mut some = measured.clone();
        some.iter_mut().for_each(|point| point.rate = rate);
        let (_, fits) = calibrate(&setup, &some).expect("a fit");
        fits.iter()
            .map(|fit| (fit.parameter, fit.value, fit.predicted))
            .collect::<Vec<_>>()
    });
    writeln!(out, "{beyond:?}")?;
    let names = ["host.remote_read_ns", "memory.l2_ns", "word.poll_miss_ns"].map(str::to_owned);
    let mut progress = Vec::new();
    let told = |done, all| progress.push((done, all));
    let (base, trials) = sensitivity(text(NAMES[0]), &[], &setup, &names, told).expect("an answer");
    writeln!(out, "{progress:?} {base:?}")?;
    for trial in trials {
        writeln!(out, "{trial:?} {}", trial.effect(base))?;
    }
    for bad in ["word.handover_ns", "memory.l9_ns", "driver.window"] {
        let error = sensitivity(text(NAMES[0]), &[], &setup, &[bad.to_owned()], |_, _| ());
        writeln!(out, "{}", error.expect_err(bad))?;
    }
    let error = predict(
        &Setup {
            handlers: 191,
            ..setup
        },
        &Offer::pattern(Pattern::Equal),
        0,
    );
    writeln!(out, "{}", error.expect_err("too many"))
}

fn stories(out: &mut String) -> std::fmt::Result {
    let setup = Setup {
        bins: 4,
        receives: 64,
        charge_commands: true,
        ..Setup::new(read(text("bluefield3"), &odd("bluefield3")), 3)
    };
    let events = Sequence::new(everything());
    for (block, domains) in [
        (0, Domains::Paper),
        (5, Domains::Paper),
        (12, Domains::Keyed),
        (99, Domains::Paper),
    ] {
        writeln!(out, "# Block {block} with {domains:?}")?;
        let setup = Setup {
            domains,
            ..setup.clone()
        };
        let told = story(&setup, &events, block).expect("a story");
        for moment in &told.moments {
            writeln!(out, "{:?} {:?} {}", moment.at, moment.kind, moment.text)?;
        }
        writeln!(
            out,
            "{:?} {:?}\n{:?}",
            told.receives,
            told.messages,
            told.scenes.last()
        )?;
    }
    writeln!(out, "# A trace of the last part")?;
    let window = |count| Sequence::window(Pattern::Equal, count, 70);
    let parts = simulate(&setup, &[window(3), window(5)], 40).expect("a run");
    let mut trace = Vec::new();
    write_chrome(&parts[1], &mut trace).expect("a vector takes it");
    out.push_str(std::str::from_utf8(&trace).expect("text"));
    writeln!(
        out,
        "{:?} {:?}",
        Phase::ALL.map(Phase::name),
        Level::ALL.map(Level::name)
    )
}

/// What a part reports, which the test also writes to cargo's folder for tests.
fn reported(name: &str, part: fn(&mut String) -> std::fmt::Result) -> String {
    let mut found = String::new();
    part(&mut found).expect("a string takes it");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.txt"));
    std::fs::write(&path, &found).expect("written");
    found
}

#[test]
fn runs_are_as_written_down() {
    expect![[r#"
        bluefield3, as it is: all kinds of events | 32 | 3bce111445e84617
        bluefield3, off: all kinds of events | 32 | 1d0b5c453bb04178
        bluefield3, off, early check: all kinds of events | 32 | 9455796ccb6c384c
        bluefield3, literal: all kinds of events | 32 | 1b25692e667300c4
        bluefield3, sequence: all kinds of events | 32 | 3bce111445e84617
        bluefield3, no hashes in the header: all kinds of events | 32 | 95fed1e31e72bf5c
        bluefield3, lazy: all kinds of events | 33 | c4a725f86d4ad68b
        bluefield3, eager: all kinds of events | 33 | c4a725f86d4ad68b
        bluefield3, domains: all kinds of events | 31 | 5362bebc7cc0e695
        bluefield3, domains and lanes: all kinds of events | 31 | 5362bebc7cc0e695
        bluefield3, 512 bytes are eager: all kinds of events | 33 | f12f6b424e3329d6
        bluefield3, 65 bytes are eager: all kinds of events | 33 | 5ba9bb178a0c0c4d
        bluefield3, 8192 bytes are eager: all kinds of events | 32 | 6649c54524702dc9
        bluefield3, commands are free: all kinds of events | 32 | 930476750152cfbe
        bluefield3, one bin: all kinds of events | 32 | 3c1524b377fc15e2
        bluefield3, eight receives: all kinds of events | 31 | 30c32b32b6493229
        bluefield3, lanes: all kinds of events | 31 | 1bc50ecf191a7e60
        bluefield3, spread: all kinds of events | 32 | 3bce111445e84617
        bluefield3, packed: all kinds of events | 32 | 89f536d07b3cc195
        bluefield3, overlap of all: all kinds of events | 32 | f886a4f11389ae71
        bluefield3, no overlap: all kinds of events | 32 | 5dee78ddb5bd0f2c
        bluefield3, the leader ends: all kinds of events | 32 | 6fb92649832b4f55
        bluefield3, the leader begins: all kinds of events | 32 | 2cd4223a884ef44f
        bluefield3, a walk by threes: all kinds of events | 32 | 7bb9b3f6ffcd9f02
        bluefield3, one handler: all kinds of events | 23 | 1699400ffcaf54cf
        bluefield3, eight handlers: all kinds of events | 32 | 3854aab491fe6dfa
        bluefield3: at recorded times | 29 | 6223e0bd96af99dc
        bluefield3-instructions, as it is: all kinds of events | 34 | 9c9b36ba68138477
        bluefield3-instructions, off: all kinds of events | 34 | ab4fb6cfff0b8161
        bluefield3-instructions, domains: all kinds of events | 33 | d221ca39dbd0fd70
        bluefield3-instructions: at recorded times | 31 | df121b63813b9292
    "#]]
    .assert_eq(&digests(&reported("runs", runs)));
}

#[test]
fn rates_are_as_written_down() {
    let found = reported("rates", rates);
    expect![[r#"
        3 handlers, mixed | 7 | 9c36b04c909d34f3
        3 handlers, long | 7 | 316264d72420db16
        3 handlers, equal | 6 | 3617396ffb851eaa
        3 handlers, everything | 7 | 97f84bfe170f975a
        3 handlers, timed | 7 | 4bce9113823bd9fe
        off, mixed | 7 | ab63a074bf01cadf
        off, long | 7 | 06b4313d1b34b6bb
        off, equal | 7 | 8a4019facc6086df
        off, everything | 7 | a95b11f2dc1f1b7d
        off, timed | 7 | 368758d6fc1eecf9
        commands, mixed | 8 | 4d68256b7a60260c
        commands, long | 8 | 4b51839bda7ecc2a
        commands, equal | 7 | 433bdc7b40b66789
        commands, everything | 8 | c7e220727c31e2d6
        commands, timed | 8 | 53d4623fc199298a
        full, mixed | 8 | 421774f424dec370
        full, long | 8 | e2cd21802208b6a8
        full, equal | 7 | 809d73507e2f7223
        full, everything | 8 | a006f607f677130d
        full, timed | 8 | e5b0c8ffa26166d5
        A stream, and the paper's workloads | 4 | adadd249a50eeef9
    "#]]
    .assert_eq(&digests(&found));
    let first = found.split("# ").nth(1).expect("a set-up");
    expect![[r#"
        3 handlers, mixed
        1.040785958114067 Some(2.800048) 1.0379249659673428 1.0436624347364982
          EU count: 0.5641552411062392
          memory level: 0.10454517918788975
          serial hand-over: 0.06407202530581357
          arrival: 0.0032141080822831736
          bandwidth: 0
          slow-path chain: 0
    "#]]
    .assert_eq(first);
}

#[test]
fn profiles_are_as_written_down() {
    expect![[r#"
        Profiles and their costs | 13 | a787bd6a101a16e9
        What an override sets, what it takes, and the times that it changes | 101 | 615a177acd995d0a
        What no override takes | 14 | 017cfd3524542aef
    "#]]
    .assert_eq(&digests(&reported("profiles", profiles)));
}

#[test]
fn fits_are_as_written_down() {
    expect![[r#"
        Fits | 20 | dd0db3a586ace97b
        bluefield3 | 12 | 3cdec72bd4365d9b
        bluefield3-instructions | 10 | b7dcae5f94613d66
        What no fit takes, and sensitivity | 11 | 020df006ef3dfae3
    "#]]
    .assert_eq(&digests(&reported("fits", fits)));
}

#[test]
fn stories_are_as_written_down() {
    expect![[r#"
        Block 0 with Paper | 20 | 92967531f6bb25b3
        Block 5 with Paper | 24 | 0138fc343fe35343
        Block 12 with Keyed | 16 | b3e0e0aac1f949c7
        Block 99 with Paper | 2 | 2279269ad21de46d
        A trace of the last part | 47 | b4efd0203e8d7f6c
    "#]]
    .assert_eq(&digests(&reported("stories", stories)));
}

/// Overrides of any form: a profile's changed text is read as the profile with the overrides.
#[test]
fn changed_texts_are_read_as_the_overrides() {
    let forms = [
        "7", "+7", "007", ".5", "5.", "1e1", "1E1", "5e-1", "-0", "0.25 ",
    ];
    let bad = [
        "", "0x10", "1_0", "5 # 6", "1\n2", "\"5\"", "[5]", "inf", "NaN", "1e1000", "٣",
    ];
    for name in [
        "work.poll_ns",
        "memory.l2_bytes",
        "eus.usable",
        "rules.walk_line",
    ] {
        let mut taken = Vec::new();
        for form in forms.into_iter().chain(bad) {
            let new = [format!("{name}={form}")];
            let Ok(profile) = Profile::read(text(NAMES[0]), &new) else {
                assert!(override_text(text(NAMES[0]), &new).is_err(), "{new:?}");
                continue;
            };
            let changed = override_text(text(NAMES[0]), &new).expect("it can be read");
            let again = Profile::read(&changed, &[]).expect("TOML");
            assert_eq!(
                (&again.numbers(), again.nic),
                (&profile.numbers(), profile.nic),
                "{new:?}"
            );
            taken.push(form);
        }
        let expected = match name {
            "work.poll_ns" => &forms[..],
            "memory.l2_bytes" => &[],
            _ => &forms[..3],
        };
        assert_eq!(taken, expected, "{name}");
    }
}
