//! An endpoint's statistics, as one JSON object in a file.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Instant;

use dpa_model::{Footprint, NicConfig};

use super::log::{make_folder, new_file};
use super::{Common, Endpoint, Totals};

/// Requests for statistics during the run: each byte that is appended to the file [`ASK`] in their
/// folder is one. A signal would interrupt the program's own system calls.
#[derive(Debug, Default)]
pub(super) struct Requests {
    file: Option<File>,
    /// Its length as last seen.
    seen: u64,
    looks: u32,
}

/// The file's name.
const ASK: &str = "ask";
/// Calls of [`Requests::is_new`] between two looks, which are system calls.
const LOOK_EVERY: u32 = 4;

impl Requests {
    /// Without the file there are no requests.
    pub(super) fn open(folder: &Path) -> Self {
        let open = || {
            File::options()
                .create(true)
                .append(true)
                .custom_flags(libc::O_NOFOLLOW)
                .open(folder.join(ASK))
        };
        let file = make_folder(folder).and_then(|()| open());
        let mut requests = Self {
            file: file.ok(),
            seen: 0,
            looks: 0,
        };
        requests.seen = requests.length().unwrap_or(0);
        requests
    }

    fn length(&self) -> Option<u64> {
        let status = rustix::fs::fstat(self.file.as_ref()?).ok()?;
        u64::try_from(status.st_size).ok()
    }

    fn is_new(&mut self) -> bool {
        self.looks = self.looks.wrapping_add(1);
        let look = self.file.is_some() && self.looks.is_multiple_of(LOOK_EVERY);
        let Some(length) = look.then(|| self.length()).flatten() else {
            return false;
        };
        std::mem::replace(&mut self.seen, length) != length
    }
}

impl Endpoint {
    /// Ends the log and writes the statistics, if they are enabled.
    pub(super) fn write_out(&mut self, common: &Common) {
        self.end_log(common);
        self.closed = true;
        self.write_stats_now(common);
    }

    /// Writes the log if lines have waited for long enough, and log and statistics on request.
    pub(super) fn write_if_asked(&mut self, common: &mut Common) {
        let asked = self.requests.is_new();
        let log = self.log.as_ref();
        let is_behind = log.is_some_and(|log| log.is_behind(Instant::now));
        if asked || is_behind {
            self.sync_log(common);
        }
        if asked {
            // What would match waits for nothing.
            self.settle(common);
            self.write_stats_now(common);
        }
    }

    pub(super) fn write_stats_now(&self, common: &Common) {
        let Some(folder) = &common.options.stats else {
            return;
        };
        if let Err(error) = self.write_stats(common, folder) {
            crate::report(&format!("no statistics in {}: {error}", folder.display()));
        }
    }

    fn write_stats(&self, common: &Common, folder: &Path) -> std::io::Result<()> {
        let name = super::log::file_name(&self.address);
        make_folder(folder)?;
        // A reader finds a whole file at any time.
        let unfinished = folder.join(format!("{name}.unfinished"));
        let mut file = new_file(&unfinished)?;
        file.write_all(self.stats(common).as_bytes())?;
        std::fs::rename(unfinished, folder.join(format!("{name}.json")))
    }

    fn stats(&self, common: &Common) -> String {
        let posted_high = self.totals.posted_high.max(self.posted_now);
        let totals = Totals {
            posted_high,
            ..self.totals
        };
        let processes =
            super::log::first_in_environment(["PMI_SIZE", "OMPI_COMM_WORLD_SIZE"]).unwrap_or(0);
        let numbers = [
            ("nic_memory_bytes", nic_memory(common)),
            ("contexts", self.rule.contexts().1.len() as u64),
            ("pid", std::process::id().into()),
            ("requests", self.requests.seen),
            ("processes", processes.into()),
        ];
        let engine = common
            .options
            .engine
            .map_or("optimistic", |entry| entry.name);
        let mut text = format!(
            "{{\n  \"engine\": \"{engine}\",\n  \"closed\": {}",
            self.closed
        );
        let mut line = |name: &str, value: u64| {
            let _ = write!(text, ",\n  \"{name}\": {value}");
        };
        totals
            .rows()
            .into_iter()
            .chain(numbers)
            .for_each(|(name, value)| line(name, value));
        for counter in self.matcher.counters() {
            line(&format!("matcher_{}", counter.name), counter.value);
        }
        if let Some(usage) = &self.usage {
            let (protocol, contexts) = self.rule.contexts();
            text += &usage.to_json(protocol, contexts);
            text += &self.waiting(common, usage);
        }
        text + "\n}\n"
    }
}

/// Bytes of the NIC's memory, used or not; 0 where another engine matches.
fn nic_memory(common: &Common) -> u64 {
    let matching = &common.options.matching;
    let nic = NicConfig {
        bins: matching.bins.get() as usize,
        ..matching.nic
    };
    if common.options.engine.is_none() {
        Footprint::new(&nic).nic_bytes()
    } else {
        0
    }
}
