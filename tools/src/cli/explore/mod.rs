mod input;

use dpamatch_tools::counted;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use dpamatch_explore::{
    BadTurns, Barrier, Domains, Effort, Ending, FastPath, Page, Removal, Report, Run, Setup, Shard,
    Story, Stuck, Turns, Violation, break_rule, every_with, explore, fault, faults, keep_rules,
    replay, shorten, stop_by, tell, test_text,
};

use serde_json::{Map, Value, json};

use super::document::{self, Form};
use super::input::{choice, default, did_you_mean};
use super::interrupt::{Early, partial};
use super::nic_args::{ByName, HEADING};
use super::progress::spinner;
use super::{BadInput, output};
use input::{Input, InputArgs};

/// Run schedules of the real handlers on a stream and show their steps.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../help/explore.txt").trim_end())]
pub(super) struct Args {
    /// Schedules to run; with --bound at most [default: 5000, with --bound all, of which at most
    /// 2000000 are run]
    #[arg(long, value_name = "COUNT")]
    schedules: Option<u64>,
    /// First seed
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Show the schedule of this seed, or of these turns, step by step
    #[arg(long, value_name = "SEED|TURNS", conflicts_with_all = ["schedules", "bound"])]
    story: Option<String>,
    /// Run every schedule of 2 to 4 handlers with at most so many preemptions: interruptions of a
    /// handler that could continue, inside a block
    #[arg(long, value_name = "K")]
    bound: Option<usize>,
    /// Do only this part of the schedules, of N; `dpamatch merge` puts the parts together
    #[arg(long, value_name = "I/N", conflicts_with = "story")]
    shard: Option<Shard>,
    /// Write the last schedule, or the failing one, into this file as a page for a browser
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print that schedule as a Rust test
    #[arg(long)]
    test: bool,
    /// Handlers of a block, 1 to 64
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=64))]
    handlers: u64,
    /// Bins of each hash table
    #[arg(long, value_name = "B", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=65536))]
    bins: u64,
    /// Entry rule of the fast path
    #[arg(long, value_parser = choice::<FastPath>(), value_name = "FORM", default_value = default::<FastPath>(), hide = true, help_heading = HEADING)]
    fast_path: FastPath,
    /// Skip receives that a lower handler booked
    #[arg(long, hide = true, help_heading = HEADING)]
    early_check: bool,
    /// When consumed receives leave their chain
    #[arg(long, value_parser = choice::<Removal>(), value_name = "WHEN", default_value = default::<Removal>(), hide = true, help_heading = HEADING)]
    removal: Removal,
    /// Which messages of a block wait for each other
    #[arg(long, value_parser = choice::<Domains>(), value_name = "WHICH", default_value = Domains::Paper.name(), hide = true, help_heading = HEADING)]
    domains: Domains,
    /// How a handler says that it has booked; without effect on keyed domains
    #[arg(long, value_parser = choice::<Barrier>(), value_name = "HOW", default_value = default::<Barrier>(), hide = true, help_heading = HEADING)]
    barrier: Barrier,
    /// Remove a rule from the handlers and stop at the first failing schedule; `list` describes the
    /// rules
    #[arg(long, value_name = "RULE")]
    fault: Option<String>,
    /// Form of the report
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Form::Text)]
    format: Form,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    nic: ByName,
}

const SCHEDULES: u64 = 5000;

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    match args.fault.as_deref() {
        Some("list") => return list(args.format),
        Some(rule) if !break_rule(rule) => {
            let meant = did_you_mean(rule, faults().map(|(name, _)| name));
            return Err(BadInput(format!("no rule {rule}{meant}; --fault list names them")).into());
        }
        _ => {}
    }
    if args.bound.is_some() && !(2..=4).contains(&args.handlers) {
        return Err(BadInput("--bound goes with 2 to 4 handlers".to_owned()).into());
    }
    if args.bound.is_some() && args.shard.is_some() && args.schedules.is_some() {
        let what = "--shard with --bound does not go with --schedules: parts share no maximum";
        return Err(BadInput(what.to_owned()).into());
    }
    let shown = args.story.as_deref().map(Shown::read).transpose();
    let shown = shown.map_err(|error| BadInput(format!("--story: {error}")))?;
    let input = args.input.load(args.handlers as usize)?;
    let asked = Asked {
        args,
        shown,
        expected: input.expected()?,
        setup: args.setup(&input),
        input,
    };
    let early = Early::catch()?;
    stop_by(early.flag());
    let begun = Instant::now();
    let progress = spinner("schedules of the handlers");
    let report = asked.report();
    progress.finish_and_clear();
    let seconds = begun.elapsed().as_secs_f64();
    let mut out = output::stdout();
    if args.format == Form::Json {
        let mut results = results(&report);
        let mut text = Vec::new();
        let ended = asked.tell(report, seconds, &early, &mut text);
        results.insert("text".to_owned(), String::from_utf8_lossy(&text).into());
        document::write(&mut *out, &document::document(&[], results))?;
        out.flush()?;
        return ended.and_then(|()| early.end());
    }
    asked
        .tell(report, seconds, &early, &mut *out)
        .and_then(|()| early.end())
}

/// The result of the schedules, for programs.
fn results(report: &Report) -> Map<String, Value> {
    let paths = report
        .paths
        .iter()
        .map(|(path, count)| json!({ "path": path, "schedules": count }));
    let violation = report.violation.as_ref().map(|violation| {
        let (turns, steps) = (violation.run.turns.to_string(), violation.run.told.len());
        json!({ "seed": violation.seed, "turns": turns, "steps": steps, "what": violation.what })
    });
    let before: Vec<Value> = report
        .by_bound
        .iter()
        .map(|it| results(it).into())
        .collect();
    document::members(json!({
        "by_preemptions": before,
        "runs": report.runs,
        "known_states": report.cut,
        "forgotten_states": report.forgotten,
        "schedules": report.schedules,
        "violations": report.violations,
        "violation": violation,
        "schedules_by_preemptions": report.bounds,
        "cut_short": report.cut_short,
        "stopped": report.stopped,
        "steps_max": report.steps_max,
        "paths": paths.collect::<Vec<_>>(),
    }))
}

/// The schedule that `--story` names.
enum Shown {
    Seed(u64),
    Turns(Turns),
}

impl Shown {
    /// A number is a seed; a turn has an `x`.
    fn read(text: &str) -> Result<Self, BadTurns> {
        match text.parse() {
            Ok(seed) => Ok(Self::Seed(seed)),
            Err(_) => text.parse().map(Self::Turns),
        }
    }
}

struct Asked<'a> {
    args: &'a Args,
    shown: Option<Shown>,
    input: Input,
    setup: Setup,
    expected: Ending,
}

impl Args {
    fn setup(&self, input: &Input) -> Setup {
        Setup {
            operations: input.operations.clone(),
            handlers: self.handlers as usize,
            bins: self.bins as usize,
            fast_path: self.fast_path,
            early_check: self.early_check,
            removal: self.removal,
            domains: self.domains,
            barrier: self.barrier,
        }
    }
}

impl Asked<'_> {
    fn report(&self) -> Report {
        let Self {
            args,
            shown,
            setup,
            expected,
            ..
        } = self;
        if let Some(Shown::Turns(turns)) = shown {
            let run = replay(setup, turns);
            let mut report = Report {
                schedules: 1,
                ..Report::default()
            };
            if let Err(Stuck::Stopped(steps)) = run.result {
                (report.stopped, report.steps_max) = (1, steps);
                return report;
            }
            match fault(&run, expected) {
                None => report.last = Some(run),
                Some(what) => {
                    report.violations = 1;
                    report.violation = Some(Violation {
                        run,
                        seed: None,
                        what,
                    });
                }
            }
            return report;
        }
        if let Some(bound) = args.bound {
            let effort = Effort {
                most: args.schedules,
                shard: args.shard.unwrap_or(Shard::WHOLE),
                ..Effort::default()
            };
            return every_with(setup, expected, bound, effort);
        }
        match shown {
            Some(Shown::Seed(seed)) => explore(setup, expected, *seed, 1, false),
            _ => {
                let count = args.schedules.unwrap_or(SCHEDULES);
                let part = args.shard.unwrap_or(Shard::WHOLE).range(count);
                let seed = args.seed.wrapping_add(part.start);
                let count = part.end - part.start;
                explore(setup, expected, seed, count, args.fault.is_some())
            }
        }
    }

    /// Prints the request and judges the report.
    fn tell(
        &self,
        report: Report,
        seconds: f64,
        early: &Early,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        if let Some(shown) = &self.shown {
            if let Some(run) = report.last.as_ref().filter(|_| report.violation.is_none()) {
                match shown {
                    Shown::Seed(seed) => writeln!(out, "schedule {seed}, turns {}:", run.turns)?,
                    Shown::Turns(_) => writeln!(out, "turns {}:", run.turns)?,
                }
                write!(out, "{}", tell(&self.story(run)))?;
            }
        } else {
            summary(&report, seconds, out)?;
            if early.is_stopped() {
                writeln!(out, "{}", partial(&counted(report.schedules, "schedule")))?;
            }
        }
        out.flush()?;
        self.judge(report, out)
    }

    fn story(&self, run: &Run) -> Story {
        run.story(&self.setup).from_block(self.input.skip)
    }

    /// Says which schedules gave the oracle's result and shows the requested schedule. Fails
    /// with exit code 3 on a violation, and with 4 if a bound of steps ended a schedule.
    fn judge(&self, report: Report, out: &mut dyn Write) -> anyhow::Result<()> {
        let Some(found) = &report.violation else {
            writeln!(out, "{}", verdict(&report))?;
            if let Some(run) = &report.last {
                self.show(
                    vec![self.right("One schedule".to_owned(), run)],
                    &run.turns,
                    out,
                )?;
            }
            out.flush()?;
            return match (report.stopped, report.schedules) {
                (0, 1..) => Ok(()),
                // A part may be empty; the whole is judged when it is put together.
                (0, 0) if self.args.shard.is_some() => Ok(()),
                _ => Err(super::NoVerdict.into()),
            };
        };
        // A requested schedule is shown unminimised.
        let short = match self.shown.is_some() {
            true => found.clone(),
            false => {
                let progress = spinner("a shorter schedule");
                let short = shorten(&self.setup, &self.expected, found);
                progress.finish_and_clear();
                short
            }
        };
        let turns = &short.run.turns;
        writeln!(
            out,
            "{} of {} broke the rules; the shortest, turns {}:",
            report.violations,
            counted(report.schedules, "schedule"),
            if turns.is_empty() {
                "none".to_owned()
            } else {
                turns.to_string()
            }
        )?;
        write!(out, "{}", tell(&self.story(&short.run)))?;
        writeln!(out, "{}", short.what)?;
        out.flush()?;
        let mut stories = vec![self.broken(&short)];
        if self.args.fault.is_some() {
            keep_rules();
            let run = replay(&self.setup, turns);
            stories.push(self.right("The same turns with the rule".to_owned(), &run));
        } else if let Some(run) = &report.last {
            stories.push(self.right("Another schedule".to_owned(), run));
        }
        self.show(stories, turns, out)?;
        out.flush()?;
        Err(super::Violated.into())
    }

    fn broken(&self, violation: &Violation) -> Story {
        let title = match &self.args.fault {
            Some(rule) => {
                let about = faults()
                    .find(|(name, _)| name == rule)
                    .map_or("", |(_, about)| about);
                format!("Without the rule: {rule}. {about}")
            }
            None => "A schedule that breaks a rule".to_owned(),
        };
        let turns = violation.run.turns.to_string();
        let mut story = self
            .story(&violation.run)
            .titled(title, violation.what.clone(), true);
        story.turns = turns;
        story
    }

    fn right(&self, title: String, run: &Run) -> Story {
        let what = fault(run, &self.expected);
        let broken = what.is_some();
        let verdict = what.unwrap_or_else(|| "This is the oracle's result.".to_owned());
        let mut story = self.story(run).titled(title, verdict, broken);
        story.turns = run.turns.to_string();
        story
    }

    fn show(
        &self,
        mut stories: Vec<Story>,
        turns: &Turns,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let text = test_text(
            &self.setup,
            &self.expected,
            turns,
            self.args.fault.as_deref(),
        );
        if self.args.test {
            writeln!(out, "\n{text}")?;
        }
        let Some(path) = &self.args.html else {
            return Ok(());
        };
        if let Some(first) = stories.first_mut() {
            first.test = text;
        }
        let page = Page {
            title: format!("A block, step by step: {}", self.input.name),
            source: super::command_line(),
            stories,
        };
        std::fs::write(path, page.html()).with_context(|| path.display().to_string())?;
        writeln!(out, "{} is written", path.display())?;
        Ok(())
    }
}

fn list(format: Form) -> anyhow::Result<()> {
    let mut out = output::stdout();
    if format == Form::Json {
        let rule = |(name, about): (String, &str)| json!({ "name": name, "about": about });
        let results = document::members(json!({ "rules": faults().map(rule).collect::<Vec<_>>() }));
        document::write(&mut *out, &document::document(&[], results))?;
        return Ok(out.flush()?);
    }
    faults().try_for_each(|(name, about)| writeln!(out, "{name:<30}{about}"))?;
    Ok(out.flush()?)
}

/// What is known of the schedules without a violation, and what is not.
pub(super) fn verdict(report: &Report) -> String {
    let bound = report.bounds.len().checked_sub(1);
    let right = report.schedules - report.stopped;
    if report.schedules == 0 {
        return "no verdict: no schedule was run".to_owned();
    }
    let mut text = match (report.schedules, report.stopped) {
        (1, 0) if !report.cut_short && bound.is_none() => {
            "the schedule gave the oracle's result".to_owned()
        }
        (_, 0) => {
            let which = match bound {
                Some(bound) if !report.cut_short => format!(
                    "every schedule with at most {}",
                    counted(bound, "preemption")
                ),
                Some(_) => counted(right, "schedule"),
                None => counted(right, "random schedule"),
            };
            let more = if report.cut_short {
                "; more were left out"
            } else {
                ""
            };
            format!("{which} gave the oracle's result{more}")
        }
        (_, stopped) => format!(
            "no verdict: {stopped} of {} {} stopped after {}",
            counted(report.schedules, "schedule"),
            if stopped == 1 { "was" } else { "were" },
            counted(report.steps_max, "step"),
        ),
    };
    if report.stopped > 0 && right > 0 {
        text += &format!("; {right} gave the oracle's result");
    }
    text
}

fn summary(report: &Report, seconds: f64, out: &mut dyn Write) -> io::Result<()> {
    let rate = report.schedules as f64 / seconds;
    let schedules = counted(report.schedules, "schedule");
    writeln!(out, "{schedules} in {seconds:.1} s ({rate:.0} per second)")?;
    for (bound, count) in report.bounds.iter().enumerate() {
        let ended = bound + 1 == report.bounds.len();
        let what = if ended && report.cut_short {
            "more were left out"
        } else {
            "all there are"
        };
        writeln!(
            out,
            "{count:>10}  with at most {}: {what}",
            counted(bound, "preemption")
        )?;
    }
    if report.cut > 0 {
        writeln!(
            out,
            "{:>10}  run to their end; the others came to one of {}, behind which all was known",
            report.runs,
            counted(report.cut, "state")
        )?;
    }
    if report.forgotten > 0 {
        writeln!(
            out,
            "{:>10}  more states than memory may hold; the schedules behind them ran each time",
            report.forgotten
        )?;
    }
    let [accessed, words] = report.words;
    if words > 0 {
        writeln!(
            out,
            "{words:>10}  of {} that handlers access: only there can they meet and are preempted",
            counted(accessed as u64, "word")
        )?;
    }
    writeln!(out, "paths, handler by handler; blocks are separated by |")?;
    let mut paths: Vec<_> = report.paths.iter().collect();
    paths.sort_by_key(|&(path, &count)| (std::cmp::Reverse(count), path));
    const SHOWN: usize = 20;
    for (path, count) in paths.iter().take(SHOWN) {
        let share = **count as f64 * 100.0 / report.schedules as f64;
        writeln!(out, "{count:>10}  {share:>5.1} %  {path}")?;
    }
    if let Some(more) = paths.len().checked_sub(SHOWN).filter(|&more| more > 0) {
        writeln!(out, "            and {more} more combinations")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_without_memory_are_named() {
        let shown = |forgotten| {
            let report = Report {
                forgotten,
                ..Report::default()
            };
            let mut out = Vec::new();
            summary(&report, 1.0, &mut out).expect("room");
            String::from_utf8(out).expect("UTF-8")
        };
        assert!(!shown(0).contains("memory"));
        assert!(shown(7).contains("\n         7  more states than memory may hold; the schedules"));
    }
}
