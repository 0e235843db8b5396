//! Predictions against the measured figure and against formulas; runs repeat exactly.

use dpamatch_predict::calibrate::{Measured, calibrate};
use dpamatch_predict::figure8::{Use, mape, points};
use dpamatch_predict::{Offer, Pattern, Profile, Sequence, Setup, predict, sdr, series, simulate};
use dpamatch_vocabulary::PaperWorkload;

const DISTINCT: &Offer = &Offer::Pattern {
    pattern: Pattern::Distinct,
    bytes: 8,
};

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
    fitted
        .map(|p| Measured {
            series: p.series,
            threads: p.threads,
            rate: p.rate,
        })
        .collect()
}

/// SDR's rates say how cores are shared, and nothing is fitted to them: 12 cores, threads spread.
#[test]
fn another_program_on_the_same_card_comes_out() {
    for name in ["bluefield3", "bluefield3-instructions"] {
        let error = |card: &Profile| {
            sdr::MEASURED.map(|(threads, rate)| (sdr::predicted(card, threads) / rate - 1.0).abs())
        };
        assert!(
            error(&card(name, &[])).iter().all(|&error| error < 0.06),
            "{name}"
        );
        let shared = card(name, &["eus.issue_demand=0.05", "rules.placement=packed"]);
        assert!(
            error(&shared)[4] > 0.5,
            "{name}: threads that share nothing"
        );
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
        assert!(
            (counted - said).abs() < 0.02,
            "{name}: {counted} counted, {said} said"
        );
    }
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
    assert!(
        near(profile.instructions.own_ns, built_in.instructions.own_ns),
        "{fits:?}"
    );
    assert!(
        near(profile.word.handover_ns, built_in.word.handover_ns),
        "{fits:?}"
    );
    let clean = points().filter(|point| point.used == Use::Clean);
    let nc = mape(
        clean
            .filter(|point| point.series == PaperWorkload::NoConflict)
            .map(|point| {
                let (setup, offer) =
                    series(&Setup::new(built_in.clone(), point.threads), point.series);
                (rate(&setup, &offer), point.rate)
            }),
    );
    assert!(nc <= 5.0, "NC is off by {nc} %");
}

#[test]
fn one_handler_takes_the_sum_of_what_is_charged() {
    // A first level that holds all lines of each message.
    let setup = setup(1, &["memory.l1_bytes=4096"]);
    let Profile {
        work, memory, host, ..
    } = &setup.profile;
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
    assert!(
        (got - expected).abs() < 0.01 * expected,
        "{got} ns a message, expected {expected}"
    );
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
