//! `report`: instructions and memory accesses per message, by phase, number of handlers and
//! workload.

use crate::rv64::{Count, Image, Outcome, Setup};
use dpa_model::PaperWorkload;

use crate::check::interpret;
use crate::job::{Ends, Job, WARM_UP};
use crate::phases::{Phase, marks};

const HANDLERS: [usize; 5] = [1, 8, 32, 64, 256];
const ACCESSES_AT: usize = 32;
/// Counted windows. Each has as many messages as the widest block.
const WINDOWS: usize = 8;
const WINDOW: usize = 256;

struct Counted {
    by_phase: Vec<(Phase, Count)>,
    /// Deepest stacks of the leader and of any worker, in bytes since counting began.
    stacks: [u64; 2],
}

/// A job without a count: its name, and why.
#[derive(Debug, thiserror::Error)]
#[error("{0}: {1}")]
pub struct NotCounted(pub(crate) String, pub(crate) String);

fn job(workload: PaperWorkload, harts: usize, handlers: usize, options: &str) -> Job {
    let options = format!("receives=1024 queue=512 bins=512 {options}");
    let job = Job::workload(workload, WINDOWS + WARM_UP, WINDOW);
    job.on(harts, handlers, Ends::Leader, &options)
}

fn count(image: &Image, job: &Job) -> Result<Counted, NotCounted> {
    let setup = Setup {
        marks: marks(),
        ..Setup::default()
    };
    let (difference, outcome) = interpret(image, job, setup);
    if let Some(difference) = difference {
        return Err(NotCounted(job.arguments.clone(), difference));
    }
    let by_phase = Phase::in_tables().map(|phase| {
        let mut sum = Count::default();
        outcome
            .counts
            .iter()
            .for_each(|hart| sum.add(&hart[phase as usize]));
        (phase, sum)
    });
    Ok(Counted {
        by_phase: by_phase.collect(),
        stacks: stacks(image, &outcome),
    })
}

/// Bytes of stack used on each hart, for the leader and the deepest worker.
fn stacks(image: &Image, outcome: &Outcome) -> [u64; 2] {
    let used = |hart: usize| used(image, hart, outcome.lowest_stack[hart]);
    [
        used(0),
        (1..outcome.lowest_stack.len()).map(used).max().unwrap_or(0),
    ]
}

fn used(image: &Image, hart: usize, lowest: Option<u64>) -> u64 {
    let top = |start| start + (hart as u64 + 1) * STACK_BYTES;
    let top = image.address_of("stacks_start").map(top);
    top.zip(lowest).map_or(0, |(top, lowest)| top - lowest)
}

/// Bytes of a DPA thread's stack.
pub const STACK_MOST: u64 = 8 << 10;

/// Bytes of stack that hart 0 uses to build the tables of a NIC and a communicator.
pub fn stack_for_setting_up(image: &Image) -> u64 {
    let job = Job::workload(PaperWorkload::NoConflict, 1, 128).on(8, 8, Ends::Leader, "");
    let setup = Setup {
        marks: marks(),
        ..Setup::default()
    };
    used(image, 0, interpret(image, &job, setup).1.lowest_before)
}

/// As in the firmware's `memory.ld`.
const STACK_BYTES: u64 = 32 << 10;

fn per_message(count: u64) -> f64 {
    count as f64 / (WINDOWS * WINDOW) as f64
}

/// Instructions per message by phase, for each workload, with these options of the firmware.
pub fn by_phase(marked: &Image, options: &str) -> Result<String, NotCounted> {
    let mut text = String::new();
    phases(&mut text, marked, options, |_, _, _| {})?;
    Ok(text)
}

fn phases(
    text: &mut String,
    marked: &Image,
    options: &str,
    mut each: impl FnMut(PaperWorkload, usize, &Counted),
) -> Result<(), NotCounted> {
    line(
        text,
        "Instructions per message, one hart per handler, waits apart.",
    );
    for &workload in PaperWorkload::ALL {
        let runs: Result<Vec<Counted>, NotCounted> = HANDLERS
            .iter()
            .map(|&handlers| count(marked, &job(workload, handlers, handlers, options)))
            .collect();
        let runs = runs?;
        head(text, &format!("\n{:<16}", workload.name()), &HANDLERS);
        rows(text, &runs);
        runs.iter()
            .zip(HANDLERS)
            .for_each(|(run, handlers)| each(workload, handlers, run));
    }
    Ok(())
}

pub fn report(marked: &Image, plain: &Image) -> Result<String, NotCounted> {
    let (mut text, mut stack_rows, mut accesses) = Default::default();
    phases(&mut text, marked, "", |workload, handlers, run| {
        if handlers == ACCESSES_AT {
            access_rows(&mut accesses, workload, run);
        }
        let [leader, worker] = run.stacks;
        let name = format!("{} N={handlers}", workload.name());
        line(
            &mut stack_rows,
            &format!("{name:<16}{leader:>9}{worker:>9}"),
        );
    })?;
    line(
        &mut text,
        &format!("\nAccesses per message on the card at N={ACCESSES_AT}."),
    );
    text += &accesses;
    line(
        &mut text,
        "\nDeepest stack while matching, in bytes: leader with both ends, worker.",
    );
    text += &stack_rows;
    line(
        &mut text,
        "\nOne hart runs all handlers alone (no barrier): instructions per message.",
    );
    head(&mut text, &format!("{:<16}", ""), &HANDLERS);
    for &workload in PaperWorkload::ALL {
        let path = |&handlers: &usize| {
            Ok(message_path(&count(
                marked,
                &job(workload, 1, handlers, "shared=0"),
            )?))
        };
        let paths: Vec<f64> = HANDLERS
            .iter()
            .map(path)
            .collect::<Result<_, NotCounted>>()?;
        row(&mut text, &format!("{:<16}", workload.name()), paths);
    }
    let of = |image: &Image| -> Result<f64, NotCounted> {
        let job = job(PaperWorkload::NoConflict, 1, 8, "");
        let run = count(image, &job)?;
        let card = run
            .by_phase
            .iter()
            .filter(|(phase, _)| *phase != Phase::Ends);
        Ok(per_message(card.map(|(_, count)| count.instructions).sum()))
    };
    let (with, without) = (of(marked)?, of(plain)?);
    let difference = format!(
        "\nMarks change the code by {:+.2} % (NC, N=8, one hart: {with:.1} and {without:.1} \
         instructions on the card; windows of {WINDOW}, {WARM_UP} of them to warm up).",
        (with / without - 1.0) * 100.0
    );
    line(&mut text, &difference);
    Ok(text)
}

fn line(text: &mut String, line: &str) {
    text.push_str(line.trim_end());
    text.push('\n');
}

fn head(text: &mut String, name: &str, handlers: &[usize]) {
    let cells: String = handlers
        .iter()
        .map(|n| format!("{:>9}", format!("N={n}")))
        .collect();
    line(text, &format!("{name}{cells}"));
}

fn row(text: &mut String, name: &str, numbers: impl IntoIterator<Item = f64>) {
    let cells: String = numbers
        .into_iter()
        .map(|number| format!("{number:>9.1}"))
        .collect();
    line(text, &format!("{name}{cells}"));
}

fn message_path(run: &Counted) -> f64 {
    let path = run
        .by_phase
        .iter()
        .filter(|(phase, _)| phase.is_message_path());
    per_message(path.map(|(_, count)| count.instructions).sum())
}

fn rows(text: &mut String, runs: &[Counted]) {
    for (index, phase) in Phase::in_tables().enumerate() {
        let count = |run: &Counted| per_message(run.by_phase[index].1.instructions);
        if runs.iter().any(|run| count(run) > 0.0) {
            row(
                text,
                &format!("{:<16}", phase.name()),
                runs.iter().map(count),
            );
        }
        if phase == Phase::Boundary {
            row(
                text,
                &format!("{:<16}", "message path"),
                runs.iter().map(message_path),
            );
        }
    }
}

fn access_rows(text: &mut String, workload: PaperWorkload, run: &Counted) {
    let head = ["loads", "stores", "bytes", "atomics", "fences", "divisions"];
    let head: String = head.iter().map(|word| format!("{word:>10}")).collect();
    line(text, &format!("\n{:<16}{head}", workload.name()));
    let mut all = Count::default();
    let mut cells = |name: &str, count: &Count| {
        let Count {
            loads,
            stores,
            byte_stores,
            atomics,
            fences,
            divisions,
            ..
        } = *count;
        let columns = [loads, stores, byte_stores, atomics, fences, divisions];
        let cells: String = columns
            .map(|count| format!("{:>10.2}", per_message(count)))
            .concat();
        line(text, &format!("{name:<16}{cells}"));
    };
    for (phase, count) in &run.by_phase {
        if phase.is_message_path() && count.instructions > 0 {
            cells(phase.name(), count);
            all.add(count);
        }
    }
    cells("message path", &all);
}
