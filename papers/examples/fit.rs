//! Looks for one setting of the card that holds all 18 points of Figure 8 and all 15 trends, with
//! the options of the paper's text:
//! `cargo run -p dpamatch_papers --example fit -- TRIES SEED`.
//!
//! It begins with the best setting that this search has found, and goes on by differential
//! evolution over 17 numbers and 7 rules. Measured numbers may be halved and doubled, guesses are
//! free. With 0 tries it prints the known setting.

use anyhow::Context;
use dpamatch_predict::figure8::{Point, points};
use dpamatch_predict::{
    Barrier, BlockBegin, BlockEnd, Overlap, Placement, Profile, Setup, predict, series,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// A number: its name, its range, its best known value, and its place in a set-up.
struct Number {
    name: &'static str,
    range: [f64; 2],
    best: f64,
    place: fn(&mut Setup) -> &mut f64,
}

macro_rules! numbers {
    ($($($field:ident).+, $least:literal to $most:literal, best $best:literal;)*) => {
        &[$(Number {
            name: stringify!($($field).+),
            range: [$least, $most],
            best: $best,
            place: |setup| &mut setup.profile.$($field).+,
        }),*]
    };
}

const NUMBERS: &[Number] = numbers![
    memory.l1_ns, 1.0 to 6.0, best 1.0;
    memory.l2_ns, 17.0 to 70.0, best 28.1;
    word.handover_ns, 5.0 to 800.0, best 240.0;
    word.poll_miss_ns, 5.0 to 1000.0, best 70.4;
    word.poll_demand, 0.0 to 1.0, best 0.6;
    work.poll_ns, 0.0 to 1600.0, best 220.4;
    work.search_ns, 0.0 to 1600.0, best 0.0;
    work.book_ns, 0.0 to 1600.0, best 372.0;
    work.detect_ns, 0.0 to 600.0, best 18.3;
    work.fast_ns, 0.0 to 3000.0, best 10.0;
    work.slow_ns, 0.0 to 3000.0, best 129.8;
    work.consume_ns, 0.0 to 600.0, best 13.1;
    work.protocol_ns, 0.0 to 1600.0, best 733.1;
    host.window_write_ns, 50.0 to 800.0, best 166.5;
    host.completion_ns, 2.0 to 300.0, best 32.0;
    work.step_ns, 0.0 to 60.0, best 0.3;
    eus.issue_demand, 0.05 to 0.6, best 0.1;
];

/// A rule: its choices, the best known one, and what each changes.
struct Rule {
    choices: &'static [&'static str],
    best: usize,
    set: fn(&mut Setup, usize),
}

const RULES: [Rule; 7] = [
    Rule {
        choices: &["a load a receive", "a load for two", "a load for four"],
        best: 1,
        set: |setup, which| setup.profile.rules.walk_line = 1 << which,
    },
    Rule {
        choices: &["clean handlers overlap", "all overlap", "none overlaps"],
        best: 1,
        set: |setup, which| {
            setup.profile.rules.overlap = [Overlap::Clean, Overlap::Always, Overlap::Never][which];
        },
    },
    Rule {
        choices: &["handlers end blocks", "the leader ends blocks"],
        best: 1,
        set: |setup, which| {
            setup.profile.rules.block_end = [BlockEnd::Handlers, BlockEnd::Leader][which];
        },
    },
    Rule {
        choices: &["messages begin blocks", "the leader begins blocks"],
        best: 1,
        set: |setup, which| {
            setup.profile.rules.block_begin = [BlockBegin::Handlers, BlockBegin::Leader][which];
        },
    },
    Rule {
        choices: &["spread over cores", "core after core"],
        best: 1,
        set: |setup, which| {
            setup.profile.rules.placement = [Placement::Spread, Placement::Packed][which];
        },
    },
    Rule {
        choices: &["barrier bitmap", "barrier lanes"],
        best: 1,
        set: |setup, which| {
            setup.profile.nic.barrier = [Barrier::Bitmap, Barrier::Lanes][which];
        },
    },
    Rule {
        choices: &["no early check", "early check"],
        best: 1,
        set: |setup, which| setup.early_check = which == 1,
    },
];

#[derive(Clone)]
struct Setting {
    numbers: Vec<f64>,
    rules: Vec<usize>,
}

/// How far a setting is from holding everything.
#[derive(Clone, Copy)]
struct Distance {
    /// The largest error of a point, as the logarithm of predicted over measured.
    worst: f64,
    /// What the search makes small.
    score: f64,
    trends_broken: usize,
}

impl Setting {
    fn rates(&self, base: &Setup) -> anyhow::Result<Vec<(Point, f64)>> {
        let mut base = base.clone();
        for (number, &value) in NUMBERS.iter().zip(&self.numbers) {
            *(number.place)(&mut base) = value;
        }
        for (rule, &which) in RULES.iter().zip(&self.rules) {
            (rule.set)(&mut base, which);
        }
        let rate = |point: Point| {
            let handlers = point.threads;
            let (setup, offer) = series(
                &Setup {
                    handlers,
                    ..base.clone()
                },
                point.series,
            );
            Ok((point, predict(&setup, &offer, 0)?.rate))
        };
        points().map(rate).collect()
    }
}

fn distance(rates: &[(Point, f64)]) -> Distance {
    let errors = rates
        .iter()
        .map(|(point, rate)| (rate / point.rate).ln().abs());
    let worst = errors.clone().fold(0.0, f64::max);
    let mean = (errors.map(|error| error * error).sum::<f64>() / rates.len() as f64).sqrt();
    let is_broken = |pair: &[(Point, f64)]| {
        let [(from, was), (to, is)] = [pair[0], pair[1]];
        from.series == to.series && (to.rate > from.rate) != (is > was)
    };
    let trends_broken = rates.windows(2).filter(|pair| is_broken(pair)).count();
    Distance {
        worst,
        score: worst + 0.3 * mean + 0.01 * trends_broken as f64,
        trends_broken,
    }
}

fn main() -> anyhow::Result<()> {
    let mut words = std::env::args().skip(1);
    let mut number = |usual: u64| match words.next() {
        None => Ok(usual),
        Some(word) => word.parse().with_context(|| format!("{word} is no number")),
    };
    let (tries, seed) = (number(0)?, number(1)?);
    let profile = Profile::read(Profile::text("bluefield3")?, &[])?;
    let base = Setup::published(profile, 1);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let known = Setting {
        numbers: NUMBERS.iter().map(|number| number.best).collect(),
        rules: RULES.iter().map(|rule| rule.best).collect(),
    };
    let judge = |setting: &Setting| anyhow::Ok(distance(&setting.rates(&base)?));
    let mut all = vec![(judge(&known)?, known.clone())];
    const KEPT: usize = 14;
    for round in 0..tries as usize {
        let mut setting = known.clone();
        if all.len() < KEPT {
            for (number, value) in NUMBERS.iter().zip(&mut setting.numbers) {
                let factor = random.random_range(-0.35_f64..0.35).exp();
                *value = (*value * factor).clamp(number.range[0], number.range[1]);
            }
            all.push((judge(&setting)?, setting));
            continue;
        }
        let mut pick = || random.random_range(0..KEPT);
        let (own, one, two) = (round % KEPT, pick(), pick());
        let best = all.iter().min_by(|a, b| a.0.score.total_cmp(&b.0.score));
        let best = best.map_or(known.clone(), |best| best.1.clone());
        setting = all[own].1.clone();
        for (at, number) in NUMBERS.iter().enumerate() {
            if random.random_range(0..2) == 0 {
                let step = all[one].1.numbers[at] - all[two].1.numbers[at];
                let noise = random.random_range(-0.02_f64..0.02) * (best.numbers[at] + 1.0);
                let value = best.numbers[at] + random.random_range(0.2_f64..0.9) * step + noise;
                setting.numbers[at] = value.clamp(number.range[0], number.range[1]);
            }
        }
        let rule = random.random_range(0..6 * RULES.len());
        if let Some(known) = RULES.get(rule) {
            setting.rules[rule] = random.random_range(0..known.choices.len());
        }
        let found = judge(&setting)?;
        if found.score < all[own].0.score {
            all[own] = (found, setting);
        }
    }
    let best = all.iter().min_by(|a, b| a.0.score.total_cmp(&b.0.score));
    let (distance, setting) = best.context("one is known")?;
    println!(
        "after {tries} tries: {:.1} % off at worst, {} of 15 trends broken",
        100.0 * (distance.worst.exp() - 1.0),
        distance.trends_broken
    );
    for (number, value) in NUMBERS.iter().zip(&setting.numbers) {
        println!("{} = {value:.1}", number.name);
    }
    for (rule, &which) in RULES.iter().zip(&setting.rules) {
        println!("{}", rule.choices[which]);
    }
    for (point, rate) in setting.rates(&base)? {
        let error = 100.0 * (rate / point.rate - 1.0);
        let name = point.series.name();
        println!(
            "{name:<6}{:>3}{:>8.3}{rate:>8.3}{error:>7.1} %",
            point.threads, point.rate
        );
    }
    Ok(())
}
