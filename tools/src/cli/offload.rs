use std::io::Write;
use std::path::{Path, PathBuf};

use dpamatch::engine::Behind;
use dpamatch::registry::EngineOptions;
use dpamatch_predict::{HANDLERS_MAX, Profile, Setup};
use dpamatch_tools::analyze::Run;
use dpamatch_tools::analyze::order::Network;
use dpamatch_tools::counted;
use dpamatch_tools::offload::{
    Advised, Answer, BUILT_IN, BreakEven, Card, Gain, Hardware, Host, InOrder, Matcher,
    OffloadError, PUBLISHED, Question, Range, Remark, Report, Rooms,
};
use dpamatch_tools::table::{Column, Table};
use dpamatch_traces::OpenOptions;
use dpamatch_vocabulary::Choice;

use super::analyze::name_of;
use super::document::Save;
use super::input::{built_in_or_file, choice};
use super::predict::profile_text;
use super::progress::bar;
use super::table::{Format, Wide, write};
use super::trace::{CollectivesArgs, load};
use super::{BadInput, document, engines, output};

/// Rows beside that of the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Per {
    /// Every rank
    Rank,
    /// Every communicator, as if it alone were offloaded
    Communicator,
}

/// Say whether offloading to a card pays: yes, no or indifferent.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help/offload.txt").trim_end())]
pub(super) struct Args {
    /// Traces, one after the other
    #[arg(value_name = "TRACE", required_unless_present = "print_host")]
    traces: Vec<PathBuf>,
    /// A row for each of these
    #[arg(long, value_enum, value_name = "WHAT,..", value_delimiter = ',')]
    per: Vec<Per>,
    /// Also compare host, DPA and cards that match in hardware: a ConnectX list, Portals, ALPU
    #[arg(long)]
    hardware: bool,
    /// Entries of such a card, or what each real card has: DPA 1024, ConnectX 1024, BXI 256,
    /// Cassini 16384, ALPU 256 [default: as --receives]
    #[arg(long, value_name = "real|L", requires = "hardware", value_parser = rooms)]
    room: Option<Rooms>,
    /// Engine behind each full card, the DPA included [default: as --engine, or a list if that
    /// cannot stand there]
    #[arg(long, value_name = "NAME", requires = "hardware", value_parser = choice::<Behind>())]
    behind: Option<Behind>,
    /// Engine that matches on the host today
    #[arg(long, value_name = "NAME", default_value = "list", value_parser = engines::software(&[]))]
    engine: String,
    /// Costs of the host: a built-in host (commodity) or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "commodity")]
    host: String,
    /// Print the host's costs with their sources and exit
    #[arg(long)]
    print_host: bool,
    /// Card: a built-in profile (bluefield3, generic) or a TOML file
    #[arg(long, value_name = "NAME|FILE", default_value = "bluefield3")]
    profile: String,
    /// Sets a parameter of the card; repeatable
    #[arg(long = "set", value_name = "TABLE.KEY=VALUE")]
    overrides: Vec<String>,
    /// Handlers on the card, each on its own execution unit
    #[arg(long, value_name = "N", default_value_t = 32,
          value_parser = clap::value_parser!(u16).range(1..=HANDLERS_MAX as i64))]
    handlers: u16,
    /// Receives that fit on the card; more fall back to the host [default: 1024, as in the paper's
    /// prototype]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    receives: Option<u64>,
    /// Smallest difference that counts, in per cent of the run
    #[arg(long = "threshold", value_name = "PERCENT", default_value_t = 0.1, value_parser = percent)]
    worth: f64,
    /// Read the intact part of broken files
    #[arg(long)]
    salvage: bool,
    #[command(flatten)]
    collectives: CollectivesArgs,
    /// Form of the results
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    save: Save,
    #[command(flatten)]
    wide: Wide,
}

fn rooms(text: &str) -> Result<Rooms, String> {
    match text.parse() {
        Ok(entries @ 1..=1_048_576) => Ok(Rooms::Equal(entries)),
        _ if text == "real" => Ok(Rooms::Published),
        _ => Err("takes real, or 1 to 1048576".to_owned()),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("a number from 0 to 100 is needed".to_owned()),
    }
}

impl Args {
    fn host(&self) -> anyhow::Result<(String, Host)> {
        let text = built_in_or_file(&self.host, BUILT_IN.iter().copied())?;
        let host =
            Host::parse(&text).map_err(|error| BadInput(format!("{}: {error}", self.host)))?;
        Ok((text, host))
    }

    /// The engine behind a full card: as asked, or the host's if it can stand there.
    fn behind(&self) -> Behind {
        let host = Behind::named(&self.engine).unwrap_or(Behind::List);
        self.behind.unwrap_or(host)
    }

    fn question(&self) -> anyhow::Result<Question> {
        let text = profile_text(&self.profile)?;
        let profile = Profile::read(&text, &self.overrides)
            .map_err(|error| BadInput(format!("{}: {error}", self.profile)))?;
        let handlers = usize::from(self.handlers);
        if handlers > profile.eus.usable {
            let usable = profile.eus.usable;
            let what = format!("--handlers {handlers}: the card has {usable} execution units");
            return Err(BadInput(what).into());
        }
        if self.room == Some(Rooms::Published) && self.receives.is_some() {
            let what = "--room real: each card has its own receives, so leave --receives out";
            return Err(BadInput(what.to_owned()).into());
        }
        let receives = self.receives.unwrap_or(1024);
        Ok(Question {
            network: Network::default(),
            engine: engines::one(&self.engine)?,
            options: EngineOptions::default(),
            host: self.host()?.1,
            card: Card {
                setup: Setup {
                    receives: receives as usize,
                    ..Setup::shipped(profile, handlers)
                },
            },
            worth: self.worth / 100.0,
            communicators: self.per.contains(&Per::Communicator),
            hardware: self.hardware.then(|| Hardware {
                rooms: self.room.unwrap_or(Rooms::Equal(receives as u32)),
                behind: self.behind(),
            }),
        })
    }

    fn report(&self, path: &Path, question: &Question) -> anyhow::Result<Report> {
        let options = OpenOptions {
            salvage: self.salvage,
            ..OpenOptions::default()
        };
        let run = load(path, options, self.collectives, "ranks read")?;
        let progress = bar(run.programs.len(), "ranks weighed");
        let report = Report::make(&run, question, |_| progress.inc(1));
        progress.finish_and_clear();
        report.map_err(|error| refused(error, path))
    }
}

/// The verdict for a whole application.
#[derive(Clone, Debug)]
pub(super) struct Advice(Report);

impl Advice {
    /// The verdict in a few sentences.
    pub(super) fn sentence(&self, name: &str) -> String {
        format!("offload {}", sentence(name, &self.0))
    }

    pub(super) fn whole(&self) -> &Advised {
        &self.0.application
    }

    pub(super) fn orders(&self) -> &[InOrder] {
        &self.0.orders
    }

    pub(super) fn remarks(&self) -> &[Remark] {
        &self.0.remarks
    }
}

/// The question with default options.
pub(super) fn usual_question() -> anyhow::Result<Question> {
    #[derive(clap::Parser)]
    struct Alone {
        #[command(flatten)]
        args: Args,
    }
    <Alone as clap::Parser>::parse_from(["offload", "--print-host"])
        .args
        .question()
}

/// The verdict for a whole application.
pub(super) fn advice(run: &Run, path: &Path, question: &Question) -> anyhow::Result<Advice> {
    let progress = bar(run.programs.len(), "ranks weighed");
    let report = Report::make(run, question, |_| progress.inc(1));
    progress.finish_and_clear();
    report.map(Advice).map_err(|error| refused(error, path))
}

fn refused(error: OffloadError, path: &Path) -> anyhow::Error {
    match error {
        OffloadError::Card { .. } => BadInput(format!("{}: {error}", path.display())).into(),
        other => other.into(),
    }
}

/// A part of an application, behind its trace.
type Part<'a> = (String, String, &'a Advised);

fn columns<'a>() -> [Column<'static, Part<'a>>; 10] {
    [
        ("trace", |it| it.0.as_str().into()),
        ("part", |it| it.1.as_str().into()),
        ("messages", |it| it.2.demand.messages.into()),
        ("steps", |it| it.2.demand.steps_per_message().into()),
        ("freed_us", |it| it.2.costs.freed_us().likely.into()),
        ("later_us", |it| it.2.costs.delay_us.likely.into()),
        ("worst_%", |it| percents(it.2, |range| range.low).into()),
        ("gain_%", |it| percents(it.2, |range| range.likely).into()),
        ("best_%", |it| percents(it.2, |range| range.high).into()),
        ("verdict", |it| it.2.verdict.answer.name().into()),
    ]
}

fn percents(advised: &Advised, of: fn(Range) -> f64) -> Option<f64> {
    advised.gain.map(|gain| 100.0 * of(gain.share))
}

/// The verdict in a few sentences, each with one number and its range.
fn sentence(name: &str, report: &Report) -> String {
    let Advised { gain, verdict, .. } = &report.application;
    let what = match verdict.answer {
        Answer::Yes => "yes, offload",
        Answer::No => "no, do not offload",
        Answer::Indifferent => "indifferent",
        Answer::DependsOnOrder => "the verdict depends on the order of posts and messages",
        Answer::None => "no verdict",
    };
    let reason = match verdict.answer {
        Answer::DependsOnOrder => by_order(&report.orders),
        _ => verdict.reason.to_string(),
    };
    let Some(Gain { share, .. }) = gain else {
        return format!("{name}: {what}. {reason}");
    };
    let Range { low, likely, high } = *share;
    let mut text = format!(
        "{name}: {what}. The run ends {} (range of prices: {} to {}). ",
        moved(likely),
        moved(low),
        moved(high)
    );
    if let Some((least, most)) = over_orders(&report.orders) {
        let orders = counted(report.orders.len(), "order");
        text += &format!(
            "Over {orders} it ends {} to {}. ",
            moved(least),
            moved(most)
        );
    }
    text + &reason
}

/// The answer in each order, as a sentence.
fn by_order(orders: &[InOrder]) -> String {
    let answers: Vec<String> = orders
        .iter()
        .map(|it| format!("{} in {}", it.answer.name(), it.order))
        .collect();
    format!("The verdicts are {}.", answers.join(", "))
}

/// The least and the largest likely gain, if several orders were run.
fn over_orders(orders: &[InOrder]) -> Option<(f64, f64)> {
    let mut gains: Vec<f64> = orders.iter().map(|it| it.gain.likely).collect();
    gains.sort_by(f64::total_cmp);
    match gains[..] {
        [least, .., most] => Some((least, most)),
        _ => None,
    }
}

fn moved(share: f64) -> String {
    let percent = 100.0 * share.abs();
    let word = if share < 0.0 { "later" } else { "earlier" };
    match percent {
        0.0 => "at the same time".to_owned(),
        _ if percent < 0.005 => format!("less than 0.01 % {word}"),
        _ => format!("{percent:.2} % {word}"),
    }
}

/// The application, and the requested parts.
fn parts<'a>(
    name: &str,
    args: &'a Args,
    report: &'a Report,
) -> impl Iterator<Item = (String, &'a Advised)> {
    let numbered = |kind: &'static str, advised: &'a [Advised]| {
        advised
            .iter()
            .map(move |it| (format!("{kind} {}", it.number.unwrap_or(0)), it))
    };
    let communicators = args
        .per
        .contains(&Per::Communicator)
        .then_some(&report.communicators[..]);
    let ranks = args.per.contains(&Per::Rank).then_some(&report.ranks[..]);
    std::iter::once((name.to_owned(), &report.application))
        .chain(numbered("communicator", communicators.unwrap_or_default()))
        .chain(numbered("rank", ranks.unwrap_or_default()))
}

/// All traces in one table, for programs.
fn whole_table(args: &Args, reports: &[(String, Report)]) -> Table {
    let rows = reports.iter().flat_map(|(name, report)| {
        parts("application", args, report).map(|(part, advised)| (name.clone(), part, advised))
    });
    Table::with_rows("offload", "Does offloading to a card pay?", rows)
        .columns(&columns())
        .keyed(2)
}

fn table(name: &str, args: &Args, question: &Question, report: &Report) -> Table {
    let rows = parts(name, args, report).map(|(part, advised)| (String::new(), part, advised));
    let table = Table::with_rows("offload", sentence(name, report), rows);
    let table = table.columns(&columns()[1..]);
    let Advised {
        demand,
        service,
        break_even,
        ..
    } = &report.application;
    let setup = &question.card.setup;
    let mut notes = vec![
        format!(
            "now: engine {} on {}",
            question.engine.name, question.host.name
        ),
        format!(
            "card: {} version {}, {}, fast path {:?}, removal {:?}",
            setup.profile.name,
            setup.profile.version,
            counted(setup.handlers, "handler"),
            setup.fast_path,
            setup.removal
        ),
        format!(
            "latency on the card at the recorded times: mean {:.2} us, maximum {:.2} us",
            service.latency_us, service.longest_us,
        ),
        format!(
            "matched in software, since the card had no room: {} of {}, {} of {}",
            service.messages_in_software,
            counted(demand.messages, "message"),
            service.receives_in_software,
            counted(demand.posts, "receive")
        ),
    ];
    notes.extend(length(report));
    notes.extend(break_even.iter().flat_map(even_notes));
    notes.extend(order_notes(report));
    let remarks = report.remarks.iter();
    notes.extend(remarks.map(|it| format!("{}: {}", it.kind.name(), it.text)));
    notes.into_iter().fold(table, Table::note)
}

/// The length of the run, of which all percentages are parts.
fn length(report: &Report) -> Option<String> {
    let simulated = seconds(report.length.simulated_us?);
    Some(match report.length.recorded_us {
        Some(recorded) => format!(
            "length of the run: {simulated} simulated without a card; {} recorded",
            seconds(recorded)
        ),
        None => format!("length of the run: {simulated} simulated without a card"),
    })
}

/// Microseconds in the unit that suits them.
fn seconds(us: f64) -> String {
    match us {
        us if us < 1e3 => format!("{us:.2} us"),
        us if us < 1e6 => format!("{:.2} ms", us / 1e3),
        us => format!("{:.2} s", us / 1e6),
    }
}

fn even_notes(even: &BreakEven) -> [String; 3] {
    let range = |range: Range| {
        format!(
            "{:.0} entries per message (range {:.0} to {:.0})",
            range.likely, range.low, range.high
        )
    };
    [
        format!("peak of the card: {:.3} M messages/s", even.card_rate),
        format!(
            "break-even: the host saves time if it searches more than {}",
            range(even.host_steps)
        ),
        format!(
            "break-even: messages are not delayed if the host searches more than {}",
            range(even.delay_steps)
        ),
    ]
}

/// The verdict in each order.
fn order_notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    for it in &report.orders {
        notes.push(format!(
            "order {}: {}, the run ends {}; {:.1} entries per message",
            it.order,
            it.answer.name(),
            moved(it.gain.likely),
            it.steps_per_message,
        ));
    }
    notes
}

/// Host, DPA and hardware side by side.
fn matchers(name: &str, report: &Report, question: &Question) -> Table {
    let columns: [Column<'_, &Matcher>; 11] = [
        ("matcher", |it| it.name.into()),
        ("room", |it| it.room.into()),
        ("on_card_%", |it| (100.0 * it.shares().0).into()),
        ("no_room_%", |it| (100.0 * it.shares().1).into()),
        ("changes", |it| it.changes.into()),
        ("card_steps", |it| {
            it.card_steps.map(|steps| it.per_message(steps)).into()
        }),
        ("host_steps", |it| it.per_message(it.host_steps).into()),
        ("card_us", |it| {
            it.card_us.map(|us| us / it.messages.max(1) as f64).into()
        }),
        ("host_us", |it| it.host_us.likely.into()),
        ("low_us", |it| it.host_us.low.into()),
        ("high_us", |it| it.host_us.high.into()),
    ];
    let title = format!("{name}: who matches, with room for so many receives on the card");
    let table = Table::with_rows("matchers", title, &report.matchers)
        .columns(&columns)
        .keyed(1);
    let table = table
        .note("on_card_%: messages that the card matches; no_room_%: receives that never fit; changes: of control, all ranks")
        .note("steps: entries passed per message; host_us: the host's time for all ranks, likely, low and high")
        .note("card_us: a message's mean time on the card; -: no vendor publishes it, so host_us alone ranks no card")
        .note("dpa: the emulated NIC, whose host takes over at once and gives back as soon as it can; only card_us comes from virtual time, where the host never gives back");
    let notes = question.hardware.map(room_notes).unwrap_or_default();
    notes.into_iter().fold(table, Table::note)
}

/// The rooms with their sources, and what stands behind.
fn room_notes(Hardware { rooms, behind }: Hardware) -> [String; 2] {
    let room = match rooms {
        Rooms::Equal(entries) => format!(
            "room: {} on each card that matches in hardware (--room), and the DPA's receives (--receives); --room real takes what each real card has",
            counted(entries, "entry")
        ),
        Rooms::Published => {
            let each = PUBLISHED.iter().map(|it| {
                let card = if it.card == "optimistic" {
                    "dpa"
                } else {
                    it.card
                };
                format!("{card} {} ({})", it.entries, it.source)
            });
            format!(
                "room of each real card: {}",
                each.collect::<Vec<_>>().join(", ")
            )
        }
    };
    [
        room,
        format!("behind each full card: {} (--behind)", behind.name()),
    ]
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let mut out = output::stdout();
    if args.print_host {
        let text = args.host()?.0;
        match args.format {
            Format::Json => document::write(&mut *out, &document::of_toml("host", &text)?)?,
            Format::Table | Format::Csv => write!(out, "{text}")?,
        }
        return Ok(out.flush()?);
    }
    let question = args.question()?;
    let mut reports = Vec::new();
    for path in &args.traces {
        reports.push((name_of(path), args.report(path, &question)?));
    }
    let document = || {
        let traces: Vec<_> = reports
            .iter()
            .map(|(name, report)| serde_json::json!({ "name": name, "report": report }))
            .collect();
        let results = document::members(serde_json::json!({ "traces": traces }));
        document::of_tables(&[&whole_table(args, &reports)], results)
    };
    args.save.write(document)?;
    match args.format {
        Format::Json => document::write(&mut *out, &document())?,
        Format::Csv => write(
            &mut *out,
            &[whole_table(args, &reports)],
            args.format,
            args.wide,
        )?,
        Format::Table => {
            let mut tables = Vec::new();
            for (name, report) in &reports {
                tables.push(table(name, args, &question, report));
                tables.extend(args.hardware.then(|| matchers(name, report, &question)));
            }
            write(&mut *out, &tables, args.format, args.wide)?;
        }
    }
    Ok(out.flush()?)
}
