//! Profiles: a card's named numbers, as TOML files.

use crate::machine::{self, picos};
pub use machine::{BlockBegin, BlockEnd, Overlap, Placement};
use serde::{Deserialize, Serialize};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    #[error("unknown profile {0:?} (known: {known}; or give a file)", known = Profile::NAMES.join(", "))]
    Unknown(String),
    #[error("{0}")]
    Syntax(#[from] toml::de::Error),
    #[error("{0:?} is not NAME=VALUE")]
    NotAnAssignment(String),
    #[error("no parameter {name:?}; known: {known}")]
    NoParameter {
        name: String,
        /// The parameters of its table, or the tables.
        known: String,
    },
    #[error("{name}: {value:?} is not a number")]
    NotANumber { name: String, value: String },
    #[error("{name} is {value}, must be {range}")]
    OutOfRange {
        name: String,
        value: f64,
        range: &'static str,
    },
}

macro_rules! section {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }
    };
}

section! {
    Eus {
        clock_ghz: f64,
        cores: usize,
        per_core: usize,
        usable: usize,
        issue_slots: u32,
        /// Share of a slot that an EU alone on its core uses.
        issue_demand: f64,
    }
}
section! {
    /// Memory levels: latencies in ns, sizes in bytes.
    Memory {
        l1_ns: f64,
        l2_ns: f64,
        l3_ns: f64,
        dram_ns: f64,
        l1_bytes: usize,
        l2_bytes: usize,
        l3_bytes: usize,
        /// Largest completion queue and bounce buffers that land in the caches.
        landing_bytes: u64,
    }
}
section! {
    /// Accesses outside the DPA, in ns.
    Host {
        /// A line written to the host's memory, with its write-back.
        window_write_ns: f64,
        /// Each further line of the copy.
        window_next_ns: f64,
        /// A read of the sender's memory over the network (rendezvous), without its transfer.
        remote_read_ns: f64,
        /// Bytes that the bus between card and host moves in a nanosecond.
        bytes_per_ns: f64,
        /// A message that the card sends on, matched in software by one core of the host.
        software_ns: f64,
        completion_ns: f64,
        doorbell_ns: f64,
    }
}
section! {
    /// Contended words, in ns.
    Word {
        /// Read-modify-write of a word that another EU has just modified.
        handover_ns: f64,
        /// Period of a polling loop.
        poll_miss_ns: f64,
        /// Share of a slot that an EU uses while it polls another handler's word.
        poll_demand: f64,
    }
}
section! {
    /// Arrivals, in ns.
    Arrival {
        spacing_ns: f64,
        /// Bytes that the wire brings in a nanosecond.
        bytes_per_ns: f64,
        /// From the boundary to the start of a handler.
        activation_ns: f64,
    }
}
section! {
    /// Instruction work in ns per execution.
    Work {
        /// Finding and decoding the entry.
        poll_ns: f64,
        hash_ns: f64,
        /// A search without its steps.
        search_ns: f64,
        step_ns: f64,
        book_ns: f64,
        detect_ns: f64,
        fast_ns: f64,
        /// A link of the slow path.
        slow_ns: f64,
        consume_ns: f64,
        /// Delivery, repost.
        protocol_ns: f64,
        post_ns: f64,
        /// Storing an unexpected message.
        unexpected_ns: f64,
    }
}

/// Form of the partial barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Barrier {
    Bitmap,
    /// A word for each handler.
    Lanes,
}

impl From<Barrier> for dpa_model_predict::Barrier {
    fn from(barrier: Barrier) -> Self {
        match barrier {
            Barrier::Bitmap => Self::Bitmap,
            Barrier::Lanes => Self::Lanes,
        }
    }
}

section! {
    /// Measured instruction counts in place of most of `work`; see `profiles/rv64imac.txt`.
    #[derive(Default)]
    Instructions {
        /// Cycles per instruction, without first-level misses; 0: instruction counts are not
        /// charged.
        cpi: f64,
        /// EU-private or never written line that misses a first level of 1 KiB, in ns.
        own_ns: f64,
        /// Line of code that misses a first level of 1 KiB, in ns.
        code_ns: f64,
    }
}
section! {
    /// Options of the NIC: see its `Options`.
    Nic {
        barrier: Barrier,
    }
}
section! {
    Rules {
        placement: Placement,
        overlap: Overlap,
        #[serde(default)]
        block_end: BlockEnd,
        #[serde(default)]
        block_begin: BlockBegin,
        /// Receives that a search visits for one load beyond the first level.
        walk_line: usize,
    }
}
section! {
    Driver {
        /// Messages of a window; 0: an endless stream.
        window: usize,
    }
}
section! {
    Profile {
        name: String,
        /// Grows when a number changes.
        version: u32,
        about: String,
        eus: Eus,
        memory: Memory,
        host: Host,
        word: Word,
        arrival: Arrival,
        work: Work,
        #[serde(default)]
        instructions: Instructions,
        nic: Nic,
        rules: Rules,
        driver: Driver,
    }
}

impl Profile {
    pub const NAMES: [&str; 3] = ["bluefield3", "bluefield3-instructions", "generic"];

    /// Text of a built-in profile.
    pub fn text(name: &str) -> Result<&'static str, ProfileError> {
        match name {
            "bluefield3" => Ok(include_str!("../profiles/bluefield3.toml")),
            "bluefield3-instructions" => {
                Ok(include_str!("../profiles/bluefield3-instructions.toml"))
            }
            "generic" => Ok(include_str!("../profiles/generic.toml")),
            _ => Err(ProfileError::Unknown(name.to_owned())),
        }
    }

    /// Reads a profile and applies overrides such as `work.search_ns=120` in order.
    ///
    /// # Errors
    /// [`ProfileError`] for the text or an override.
    ///
    /// # Examples
    /// ```
    /// use dpamatch_predict::Profile;
    /// let text = Profile::text("bluefield3")?;
    /// let profile = Profile::read(text, &["memory.l2_ns=40".to_owned()])?;
    /// assert_eq!(profile.memory.l2_ns, 40.0);
    /// assert!(Profile::read(text, &["memory.l9_ns=1".to_owned()]).is_err());
    /// # Ok::<(), dpamatch_predict::ProfileError>(())
    /// ```
    pub fn read(text: &str, overrides: &[String]) -> Result<Self, ProfileError> {
        let mut table: toml::Table = text.parse()?;
        for assignment in overrides {
            let (name, value) = assignment
                .split_once('=')
                .ok_or_else(|| ProfileError::NotAnAssignment(assignment.clone()))?;
            set(&mut table, name.trim(), value.trim())?;
        }
        let profile: Self = table.try_into()?;
        profile.check()?;
        Ok(profile)
    }

    fn check(&self) -> Result<(), ProfileError> {
        for (name, value) in self.numbers() {
            let (least, most, range) = match name.as_str() {
                "eus.usable" => (1.0, crate::HANDLERS_MAX as f64, "1 to the most handlers"),
                "eus.cores" | "eus.per_core" => (1.0, 1024.0, "1 to 1024"),
                "eus.issue_slots" | "rules.walk_line" => (1.0, 64.0, "1 to 64"),
                "eus.issue_demand" | "word.poll_demand" => (0.0, 1.0, "0 to 1"),
                "eus.clock_ghz" | "word.poll_miss_ns" => (0.01, 1e9, "0.01 to 1e9"),
                "instructions.cpi" => (0.0, 1000.0, "0 to 1000"),
                "driver.window" => (0.0, crate::WINDOW_MAX as f64, "0 to 65536"),
                "memory.l1_bytes" => (64.0, 4_194_304.0, "64 bytes to 4 MiB"),
                name if name.ends_with("_bytes") => (64.0, 1e11, "64 to 1e11 bytes"),
                name if name.ends_with("bytes_per_ns") => (1e-6, 1e9, "1e-6 to 1e9"),
                _ => (0.0, 1e9, "0 to 1e9 ns"),
            };
            if !(least..=most).contains(&value) {
                return Err(ProfileError::OutOfRange { name, value, range });
            }
        }
        Ok(())
    }

    /// All numbers that affect a prediction, by name.
    ///
    /// # Panics
    /// Never: a profile has a form in TOML.
    pub fn numbers(&self) -> Vec<(String, f64)> {
        let table = toml::Table::try_from(self).expect("a profile has a form in TOML");
        let mut numbers = Vec::new();
        for (section, fields) in &table {
            let fields = fields.as_table().into_iter().flatten();
            numbers.extend(fields.filter_map(|(field, value)| {
                let integer = value.as_integer().map(|value| value as f64);
                Some((format!("{section}.{field}"), value.as_float().or(integer)?))
            }));
        }
        numbers
    }

    pub fn costs(&self) -> machine::Costs {
        let Self {
            eus,
            memory,
            host,
            word,
            arrival,
            work,
            ..
        } = self;
        machine::Costs {
            cycle: picos(1.0 / eus.clock_ghz),
            level: [memory.l1_ns, memory.l2_ns, memory.l3_ns, memory.dram_ns].map(picos),
            lines: [memory.l1_bytes, memory.l2_bytes, memory.l3_bytes].map(|bytes| bytes / 64),
            window_write: picos(host.window_write_ns),
            window_next: picos(host.window_next_ns),
            remote_read: picos(host.remote_read_ns),
            byte: 1e3 / host.bytes_per_ns.min(arrival.bytes_per_ns),
            software: picos(host.software_ns),
            completion: picos(host.completion_ns),
            doorbell: picos(host.doorbell_ns),
            handover: picos(word.handover_ns),
            poll_miss: picos(word.poll_miss_ns),
            arrival: picos(arrival.spacing_ns),
            activation: picos(arrival.activation_ns),
            issue: machine::Issue {
                demand: eus.issue_demand,
                poll_demand: word.poll_demand,
                slots: eus.issue_slots,
            },
            walk_line: self.rules.walk_line,
            landing_bytes: memory.landing_bytes,
            instruction: self.instructions.cpi / eus.clock_ghz * 1e3,
            own: self.instructions.own_ns * 1e3,
            code: self.instructions.code_ns * 1e3,
            work: machine::Work {
                poll: picos(work.poll_ns),
                hash: picos(work.hash_ns),
                search: picos(work.search_ns),
                step: picos(work.step_ns),
                book: picos(work.book_ns),
                detect: picos(work.detect_ns),
                fast: picos(work.fast_ns),
                slow: picos(work.slow_ns),
                consume: picos(work.consume_ns),
                protocol: picos(work.protocol_ns),
                post: picos(work.post_ns),
                unexpected: picos(work.unexpected_ns),
            },
        }
    }

    /// The machine's choices. `post_on_clock`: commands take time on handler 0's EU.
    pub fn machine_rules(&self, post_on_clock: bool) -> machine::Rules {
        let Rules {
            placement,
            overlap,
            block_end,
            block_begin,
            ..
        } = self.rules;
        machine::Rules {
            placement,
            overlap,
            block_end,
            block_begin,
            post_on_clock,
        }
    }
}

/// The text of a profile with values replaced and comments kept.
pub fn override_text(text: &str, overrides: &[String]) -> Result<String, ProfileError> {
    Profile::read(text, overrides)?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for assignment in overrides {
        let (name, value) = assignment
            .split_once('=')
            .ok_or_else(|| ProfileError::NotAnAssignment(assignment.clone()))?;
        let (wanted, field) = name.trim().split_once('.').unwrap_or_default();
        let mut section = String::new();
        for line in &mut lines {
            if let Some(rest) = line.strip_prefix('[') {
                section = rest.split(']').next().unwrap_or_default().to_owned();
            } else if section == wanted
                && line
                    .split('=')
                    .next()
                    .is_some_and(|key| key.trim() == field)
            {
                let comment = line
                    .find('#')
                    .map_or(String::new(), |at| format!(" {}", &line[at..]));
                let value = value.trim();
                let quoted = line
                    .split('#')
                    .next()
                    .is_some_and(|before| before.contains('"'));
                *line = if quoted {
                    format!("{field} = \"{value}\"")
                } else {
                    format!("{field} = {}", toml_number(value))
                } + &comment;
            }
        }
    }
    Ok(lines.join("\n") + "\n")
}

/// TOML knows fewer forms of a number than overrides: no `.5`, no `007`.
fn toml_number(text: &str) -> String {
    let number = text.parse().map(|number: i64| number.to_string());
    let number = number.or_else(|_| text.parse().map(|number: f64| format!("{number:?}")));
    match format!("x = {text}").parse::<toml::Table>() {
        Ok(_) => text.to_owned(),
        Err(_) => number.unwrap_or_else(|_| text.to_owned()),
    }
}

fn set(table: &mut toml::Table, name: &str, value: &str) -> Result<(), ProfileError> {
    let unknown = |known: &toml::Table, ending: &str| {
        let known: Vec<String> = known
            .iter()
            .filter(|(_, value)| value.is_table() != ending.is_empty())
            .map(|(key, _)| key.clone() + ending)
            .collect();
        ProfileError::NoParameter {
            name: name.to_owned(),
            known: known.join(", "),
        }
    };
    let (section, field) = name.split_once('.').unwrap_or_default();
    let Some(fields) = table.get(section).and_then(toml::Value::as_table) else {
        return Err(unknown(table, ".*"));
    };
    let place = fields.get(field).ok_or_else(|| unknown(fields, ""))?;
    let wrong = || ProfileError::NotANumber {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    let new = match place {
        toml::Value::Float(_) => toml::Value::Float(value.parse().map_err(|_| wrong())?),
        toml::Value::Integer(_) => toml::Value::Integer(value.parse().map_err(|_| wrong())?),
        _ => toml::Value::String(value.to_owned()),
    };
    table[section][field] = new;
    Ok(())
}
