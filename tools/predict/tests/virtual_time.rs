//! Predictions against the measured figure and against formulas; runs repeat exactly.

use dpamatch_predict::calibrate::{Measured, calibrate};
use dpamatch_predict::figure8::{self, Use, mape, points};
use dpamatch_predict::{
    FastPath, Limit, Offer, Part, Pattern, Phase, Profile, Removal, Sequence, Setup, band, limits,
    predict, sdr, series, simulate,
};
use dpamatch_vocabulary::PaperWorkload;

const DISTINCT: &Offer = &Offer::Pattern { pattern: Pattern::Distinct, bytes: 8 };
const EQUAL: &Offer = &Offer::Pattern { pattern: Pattern::Equal, bytes: 8 };

fn card(name: &str, overrides: &[&str]) -> Profile {
    let overrides: Vec<String> = overrides.iter().map(|&name| name.to_owned()).collect();
    Profile::read(Profile::text(name).expect("built in"), &overrides).expect("a good profile")
}

fn setup(handlers: usize, overrides: &[&str]) -> Setup {
    Setup::new(card("bluefield3", overrides), handlers)
}

fn rate(setup: &Setup, offer: &Offer) -> f64 {
    predict(setup, offer, 0).expect("a good set-up").rate
}

/// What the built-in profiles are fitted to.
fn fitted() -> Vec<Measured> {
    let fitted = points().filter(|point| point.used == Use::Fitted);
    let measured = |point: figure8::Point| Measured {
        series: point.series,
        threads: point.threads,
        rate: point.rate,
    };
    fitted.map(measured).collect()
}

fn held_out(profile: &Profile) -> Vec<(PaperWorkload, f64, f64)> {
    let clean = points().filter(|point| point.used == Use::Clean);
    clean
        .map(|point| {
            let base = Setup::new(profile.clone(), point.threads);
            let (setup, offer) = series(&base, point.series);
            (point.series, rate(&setup, &offer), point.rate)
        })
        .collect()
}

fn error_of(results: &[(PaperWorkload, f64, f64)], wanted: Option<PaperWorkload>) -> f64 {
    let of = results.iter().filter(|result| wanted.is_none_or(|series| result.0 == series));
    mape(of.map(|&(_, predicted, measured)| (predicted, measured)))
}

/// SDR's rates say how cores are shared, and nothing is fitted to them: 12 cores, threads spread.
#[test]
fn another_program_on_the_same_card_comes_out() {
    for name in ["bluefield3", "bluefield3-instructions"] {
        let error = |card: &Profile| {
            sdr::MEASURED.map(|(threads, rate)| (sdr::predicted(card, threads) / rate - 1.0).abs())
        };
        assert!(error(&card(name, &[])).iter().all(|&error| error < 0.06), "{name}");
        let shared = card(name, &["eus.issue_demand=0.05", "rules.placement=packed"]);
        assert!(error(&shared)[4] > 0.5, "{name}: threads that share nothing");
    }
}

#[test]
fn the_issue_demand_is_that_of_the_counted_instructions() {
    for name in ["bluefield3", "bluefield3-instructions"] {
        let setup = Setup::new(card(name, &[]), 1);
        let part = predict(&setup, DISTINCT, 0).expect("a good set-up").part;
        let cycles = part.time as f64 / 1e3 * setup.profile.eus.clock_ghz;
        let counted = part.outcome.eus[0].instructions / cycles;
        let said = setup.profile.eus.issue_demand;
        assert!((counted - said).abs() < 0.02, "{name}: {counted} counted, {said} said");
    }
}

/// A rate that depends on the timing of conflicts has a wide band.
#[test]
fn a_band_shows_a_rate_that_jumps() {
    let width = |fast_path, threads| {
        let setup = Setup { fast_path, ..setup(threads, &[]) };
        let now = rate(&setup, EQUAL);
        let (least, most) = band(&setup, EQUAL, now).expect("a good set-up");
        assert!(least <= now && now <= most);
        most / least - 1.0
    };
    assert!(width(FastPath::Prefix, 32) < 0.05);
    let literal = [8, 12, 15, 16, 20, 24, 25].map(|threads| width(FastPath::Literal, threads));
    assert!(literal.iter().any(|&width| width > 0.3), "{literal:?}");
}

fn instructions(overrides: &[&str]) -> Setup {
    Setup::new(card("bluefield3-instructions", overrides), 1)
}

#[test]
fn measured_instructions_give_no_conflicts_from_two_fitted_numbers() {
    let base = instructions(&["instructions.own_ns=5", "word.handover_ns=300"]);
    let fitted = fitted();
    let (profile, fits) = calibrate(&base, &fitted).expect("measurements are there");
    let names: Vec<_> = fits.iter().map(|fit| fit.parameter).collect();
    assert_eq!(names, ["instructions.own_ns", "word.handover_ns"]);
    let built_in = instructions(&[]).profile;
    let near = |got: f64, wanted: f64| (got / wanted - 1.0).abs() < 0.005;
    assert!(near(profile.instructions.own_ns, built_in.instructions.own_ns), "{fits:?}");
    assert!(near(profile.word.handover_ns, built_in.word.handover_ns), "{fits:?}");
    let results = held_out(&built_in);
    let nc = error_of(&results, Some(PaperWorkload::NoConflict));
    assert!(nc <= 5.0, "NC is off by {nc} %");
}

#[test]
fn instructions_and_lines_are_charged_by_what_they_cost() {
    let time = |overrides: &[&str]| 1e3 / rate(&instructions(overrides), DISTINCT);
    let none = time(&["instructions.cpi=1e-9", "instructions.own_ns=0"]);
    let one = time(&["instructions.cpi=1", "instructions.own_ns=0"]);
    let two = time(&["instructions.cpi=2", "instructions.own_ns=0"]);
    let cycle = 1.0 / 1.8;
    let instructions = (one - none) / cycle;
    assert!((700.0..1000.0).contains(&instructions), "{instructions} instructions a message");
    assert!((two - one - (one - none)).abs() < 1.0, "twice as many cycles");
    let lines = (time(&["instructions.cpi=1e-9", "instructions.own_ns=10"]) - none) / 10.0;
    assert!((25.0..45.0).contains(&lines), "{lines} lines a message");
    let code = (time(&["instructions.code_ns=10"]) - time(&[])) / 10.0;
    assert!((40.0..90.0).contains(&code), "{code} lines of code a message");
}

fn traced(handlers: usize, seed: u64) -> Part {
    let offer = Offer::pattern(Pattern::Mixed { equal: 50, seed });
    predict(&setup(handlers, &[]), &offer, 100_000).expect("a good set-up").part
}

#[test]
fn spans_of_an_eu_do_not_overlap_and_name_every_phase() {
    let part = traced(8, 1);
    for eu in 0..8 {
        let mut spans: Vec<_> = part.outcome.spans.iter().filter(|span| span.eu == eu).collect();
        spans.sort_by_key(|span| (span.begin, span.end));
        assert!(
            spans.windows(2).all(|pair| pair[0].end <= pair[1].begin),
            "EU {eu} does two things at a time"
        );
    }
    let offer = Offer::pattern(Pattern::Mixed { equal: 50, seed: 1 });
    let sequence = Setup { fast_path: FastPath::Sequence, ..setup(8, &["driver.window=0"]) };
    let other = predict(&sequence, &offer, 100_000).expect("a good set-up").part;
    let spans = part.outcome.spans.iter().chain(&other.outcome.spans);
    let seen: std::collections::BTreeSet<Phase> = spans.map(|span| span.phase).collect();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), Phase::ALL, "every phase is seen");
}

#[test]
fn one_handler_takes_the_sum_of_what_is_charged() {
    // A first level that holds all lines of each message.
    let setup = setup(1, &["memory.l1_bytes=4096"]);
    let Profile { work, memory, host, .. } = &setup.profile;
    let work = work.poll_ns
        + work.search_ns
        + work.book_ns
        + work.detect_ns
        + work.consume_ns
        + work.protocol_ns;
    // Entry, bin, receive, barrier's bitmap. In the first level: booking, candidate, the bits of
    // the previous block, consuming, reported receive, progress twice; at the removal, the bin and
    // the receive twice each.
    let lines = 4.0 * memory.l2_ns + 11.0 * memory.l1_ns;
    let beyond = host.window_write_ns + host.completion_ns + host.doorbell_ns;
    let expected = work + lines + beyond;
    let got = 1e3 / rate(&setup, DISTINCT);
    assert!((got - expected).abs() < 0.01 * expected, "{got} ns a message, expected {expected}");
}

/// The leader works for the block's messages serially, and no block begins before.
#[test]
fn the_leader_ends_a_block_before_the_next() {
    let block_us = |block_end: &str| {
        let setup = setup(32, &[block_end, "rules.overlap=never"]);
        32.0 / rate(&Setup { removal: Removal::Lazy, ..setup }, DISTINCT)
    };
    let [leader, handlers] = ["rules.block_end=leader", "rules.block_end=handlers"];
    let serial = block_us(leader) - block_us(handlers);
    // The entry, and a line that the handler wrote, of each of the 32.
    assert!(serial > 32.0 * 2.0 * 0.035, "{serial} us a block");
}

/// A leader that begins a block reads an entry of L2 for each message, and hands the block over.
#[test]
fn the_leader_begins_a_block() {
    let block_ns = |handlers: usize, block_begin: &str| {
        let setup = setup(handlers, &[block_begin, "rules.overlap=never"]);
        handlers as f64 * 1000.0 / rate(&setup, DISTINCT)
    };
    let more = |handlers| {
        let [leader, free] = ["rules.block_begin=leader", "rules.block_begin=handlers"];
        block_ns(handlers, leader) - block_ns(handlers, free)
    };
    let alone = more(1);
    assert!((alone - 35.0).abs() < 0.5, "{alone} ns for an entry");
    // Handlers start later, but all but the first have the barrier before them either way.
    let eight = more(8);
    let entries = 8.0 * 35.0;
    assert!((entries..entries + 2.0 * 92.9).contains(&eight), "{eight} ns for eight entries");
}

#[test]
fn a_slow_wire_is_the_limit() {
    let setup = setup(8, &["arrival.spacing_ns=5000"]);
    let got = rate(&setup, DISTINCT);
    assert!((got - 0.2).abs() < 0.002, "{got}, but a message comes every 5 us");
    let now = predict(&setup, DISTINCT, 0).expect("a good set-up");
    let gains = limits(&setup, DISTINCT, &now).expect("a good set-up");
    assert_eq!(gains[0].limit, Limit::Arrival);
    // Each message is alone: all take equally long and end before the next arrives.
    let (mean, longest) = now.part.latency_us();
    assert!(mean > 0.5 && mean <= longest && longest < 5.0, "{mean}, at most {longest}");
    assert!(longest - mean < 0.1 * mean, "{mean}, at most {longest}");
}

#[test]
fn the_serial_hand_over_bounds_many_handlers() {
    // Asymptote 1 / d of the published model.
    let slow = setup(190, &["driver.window=0", "word.handover_ns=200"]);
    let got = rate(&slow, DISTINCT);
    assert!(got < 5.0 && got > 4.0, "{got}, with one hand-over of 0.2 us per message");
}

#[test]
fn tables_that_outgrow_the_caches_cost_more() {
    let mut wide = setup(8, &["driver.window=0"]);
    wide.receives = 65_536;
    let dram = |count| {
        let events = Sequence::window(Pattern::Distinct, count, 8);
        let parts = simulate(&wide, &[events.clone(), events], 0).expect("a good set-up");
        let part = parts.last().expect("two parts");
        let time: u64 = part.outcome.eus.iter().map(|eu| eu.time.memory[3]).sum();
        time / part.messages
    };
    assert_eq!(dram(1024), 0, "64 KiB of receives stay in L2");
    // Most of 4 MiB of receives leave L3 before they are used again.
    assert!(dram(60_000) > 200_000, "{} ps a message", dram(60_000));
}
