//! The figures of the pages are what the commands beside them draw, to the byte. Those of rates and
//! times, and of recordings that are not in the repository, have the words of their commands:
//! titles, axes and series in order.

#[path = "../../tests/watchdog/mod.rs"]
mod watchdog;

mod programs;

use std::path::Path;
use std::process::Command;

/// A figure of the pages.
struct Figure {
    command: &'static str,
    /// The file that the command writes.
    drawn: &'static str,
    /// The file in docs/figures.
    shown: &'static str,
}

/// Figures that are compared to the byte.
const FIGURES: [Figure; 14] = [
    Figure {
        command: "compare search --rounds 0",
        drawn: "figure-search-steps.svg",
        shown: "search-steps.svg",
    },
    Figure {
        command: "compare depth --rounds 0",
        drawn: "figure-depth.svg",
        shown: "depth.svg",
    },
    Figure {
        command: "compare patterns --rounds 0",
        drawn: "figure-patterns.svg",
        shown: "patterns.svg",
    },
    Figure {
        command: "compare memory --rounds 0",
        drawn: "figure-memory.svg",
        shown: "memory.svg",
    },
    Figure {
        command: "compare queues --rounds 0",
        drawn: "figure-queues.svg",
        shown: "queues.svg",
    },
    Figure {
        command: "compare applications --ranks 256 --engine rank-array,col-pnp,col-ll,ll-pnp \
                  --rounds 0",
        drawn: "figure-applications-256.svg",
        shown: "applications.svg",
    },
    Figure {
        command: "compare complexity --rounds 0",
        drawn: "figure-complexity.svg",
        shown: "complexity.svg",
    },
    Figure {
        command: "accuracy",
        drawn: "figure8_predicted.svg",
        shown: "predicted.svg",
    },
    Figure {
        command: "ablation",
        drawn: "ablation.svg",
        shown: "ablation.svg",
    },
    Figure {
        command: "cost hierarchy",
        drawn: "hierarchy.svg",
        shown: "cost-hierarchy.svg",
    },
    Figure {
        command: "cost contention",
        drawn: "contention-line.svg",
        shown: "cost-contention.svg",
    },
    Figure {
        command: "channels --only latency",
        drawn: "latency-ratio.svg",
        shown: "channels-latency.svg",
    },
    Figure {
        command: "channels --only discovery",
        drawn: "message-discovery.svg",
        shown: "channels-discovery.svg",
    },
    Figure {
        command: "channels --only thresholds",
        drawn: "ways-by-length.svg",
        shown: "channels-thresholds.svg",
    },
];
/// Figures of rates and times, or of recordings that are not in the repository: their words are
/// compared.
const MEASURED: [Figure; 6] = [
    Figure {
        command: "bench --scenario NC,WC-FP,WC-SP --sweep 1,2 --windows 1,128 --baseline \
                  no-matching,bins",
        drawn: "figure8.svg",
        shown: "rates.svg",
    },
    Figure {
        command: "bench --scenario DEPTH-16,DEPTH-64,WDEPTH-16,WDEPTH-64 --windows 100 \
                  --baseline list,bins",
        drawn: "depth.svg",
        shown: "rates-depth.svg",
    },
    Figure {
        command: "cost ping-pong --rounds 1 --messages 16,64,256 --engine optimistic,list,bins,\
                  col-pnp,col-ll,ll-pnp,simd,rank-array,4d,ucx,optimistic-seq,adaptive,oracle,\
                  endpoint",
        drawn: "ping-pong.svg",
        shown: "cost-ping-pong.svg",
    },
    Figure {
        command: "analyze ../tests/data/traces/minife-16/minife-16.dumpi.tar.xz \
                  ../tests/data/traces/lulesh-27/lulesh-27.dumpi.tar.xz \
                  ../tests/data/traces/recorder/lammps-4.dumpi.tar.xz",
        drawn: "figure-calls.svg",
        shown: "applications-calls.svg",
    },
    Figure {
        command: "analyze ../tests/data/traces/minife-16/minife-16.dumpi.tar.xz \
                  ../tests/data/traces/lulesh-27/lulesh-27.dumpi.tar.xz \
                  ../tests/data/traces/recorder/lammps-4.dumpi.tar.xz",
        drawn: "figure-bins.svg",
        shown: "applications-bins.svg",
    },
    Figure {
        command: "channels --only real --bursts 1,10,100 --rounds 4",
        drawn: "real-discovery.svg",
        shown: "channels-real.svg",
    },
];
/// Shortens the commands of rates.
const SHORT_RUN: &str = "--reps 100 --rounds 3 --budget 100 --keep disturbed,placements";
/// The words of a figure, without ticks and without names of recordings, such as `amg-8`.
fn words(figure: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(figure)
        .unwrap_or_else(|error| panic!("{}: {error}", figure.display()));
    let texts = text
        .split("<text")
        .skip(1)
        .filter_map(|it| it.split_once('>'));
    let words = texts.filter_map(|(_, it)| Some(it.split_once('<')?.0.to_owned()));
    let is_name = |word: &str| {
        word.rsplit_once('-')
            .is_some_and(|(_, ranks)| ranks.parse::<u32>().is_ok())
    };
    let is_tick = |word: &str| word.trim_end_matches('k').parse::<f64>().is_ok();
    words
        .filter(|word| !is_name(word) && !is_tick(word))
        .collect()
}

fn pages() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/figures")
}

fn draw(command: &str, folder: &Path) {
    let mut run = Command::new(programs::of(
        &command.split_whitespace().collect::<Vec<_>>(),
    ));
    run.args(command.split_whitespace())
        .arg("--out")
        .arg(folder)
        .env_remove("CLICOLOR_FORCE");
    let output = run.output().expect("it runs");
    assert!(
        output.status.success(),
        "{command}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Compares what the command drew. `DPAMATCH_DRAW=1` writes the figures instead.
fn check(figure: &Figure) {
    let Figure {
        command,
        drawn,
        shown,
    } = figure;
    let folder = tempfile::tempdir().expect("a folder");
    draw(command, folder.path());
    let drawn = folder.path().join(drawn);
    let read = |path: &Path| {
        std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    if std::env::var_os("DPAMATCH_DRAW").is_some() {
        std::fs::copy(&drawn, pages().join(shown)).expect("written");
    }
    assert!(
        read(&drawn) == read(&pages().join(shown)),
        "docs/figures/{shown} is not what `dpamatch {command} --out DIR` draws; to draw it again: \
         DPAMATCH_DRAW=1 cargo test -p dpamatch_tools --test figures"
    );
}

/// Compares words, again where a disturbed measurement gave no rate, and so no line.
fn check_words(figure: &Figure) {
    let Figure {
        command,
        drawn,
        shown,
    } = figure;
    let short = if command.starts_with("bench") {
        SHORT_RUN
    } else {
        ""
    };
    let shown = words(&pages().join(shown));
    let drawn = |_| {
        let folder = tempfile::tempdir().expect("a folder");
        draw(&format!("{command} {short}"), folder.path());
        words(&folder.path().join(drawn))
    };
    let mut tries = (0..6).map(drawn);
    let first = tries.next().expect("a figure");
    assert!(first.len() > 5, "{first:?}");
    let right = first == shown || (!short.is_empty() && tries.any(|words| words == shown));
    assert!(
        right,
        "`dpamatch {command}` draws {first:?}, the page shows {shown:?}"
    );
}

#[test]
fn every_figure_is_what_its_command_draws() {
    let _watched = watchdog::on("figures that are drawn again");
    FIGURES.iter().for_each(check);
    MEASURED.iter().for_each(check_words);
}
