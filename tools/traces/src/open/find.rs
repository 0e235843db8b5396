//! Finds the files of a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::region::Region;
use crate::{Rank, RunInfo, TraceError, TraceErrorKind};

use super::OpenOptions;
use super::archive::{Member, members};
use super::decompress::{self, Compression};
use super::files::{BEGINNING_BYTES, Files, Location, is_tar, ranges};
use super::names::{Content, is_archive, rank_name, sites_name};

/// Bytes of a description that are read; real ones have 150, and a line for each note.
const META_BYTES_MAX: u64 = 64 * 1024;

fn unsupported(path: &Path, what: String) -> TraceError {
    TraceError::new(path, TraceErrorKind::Unsupported(what))
}

pub(super) fn find(path: &Path, options: &OpenOptions) -> Result<Files, TraceError> {
    if fs::metadata(path)
        .map_err(|error| TraceError::new(path, error))?
        .is_dir()
    {
        return in_folder(path, None, options);
    }
    let is_meta = path
        .extension()
        .is_some_and(|extension| extension == "meta");
    if let (true, Some(stem)) = (is_meta, path.file_stem().and_then(|stem| stem.to_str())) {
        return in_folder(folder_of(path), Some(stem), options);
    }
    let file = Region::open(path)?;
    let compression = Compression::detect(&file.bytes_at(0, BEGINNING_BYTES)?);
    if holds_tar(&file, compression) {
        return in_archive(&file, compression, options);
    }
    Ok(single(path, options))
}

fn folder_of(file: &Path) -> &Path {
    file.parent()
        .filter(|parent| *parent != Path::new(""))
        .unwrap_or(Path::new("."))
}

fn sites_beside(file: &Path) -> Option<PathBuf> {
    Some(file.with_extension("sites")).filter(|beside| beside.is_file())
}

fn holds_tar(file: &Region, compression: Compression) -> bool {
    use std::io::Read;
    let mut beginning = Vec::new();
    let read = decompress::reader(file, compression)
        .take(BEGINNING_BYTES)
        .read_to_end(&mut beginning);
    // The next reader reports any error.
    read.is_ok() && is_tar(&beginning)
}

fn single(path: &Path, options: &OpenOptions) -> Files {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let mut run = RunInfo::default();
    let named = rank_name(&name).map(|name| name.rank);
    let rank = options.rank.or(named).unwrap_or_else(|| {
        run.notices.push(format!(
            "the name {name} has no rank number: rank 0 assumed"
        ));
        Rank::default()
    });
    let place = Location::File(path.to_owned());
    let sites = sites_beside(path)
        .map(|beside| (rank, Location::File(beside)))
        .into_iter()
        .collect();
    Files {
        run,
        ranks: vec![rank],
        places: vec![place],
        sites,
        options: options.clone(),
    }
}

/// The run in a folder with this prefix, or the only run.
fn in_folder(
    folder: &Path,
    prefix: Option<&str>,
    options: &OpenOptions,
) -> Result<Files, TraceError> {
    let about = |error| TraceError::new(folder, error);
    let mut candidates = Vec::new();
    let mut archives = Vec::new();
    for entry in fs::read_dir(folder).map_err(about)? {
        let path = entry.map_err(about)?.path();
        // Rank files have plain text names; other files cannot belong to a trace.
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        if is_archive(name) {
            archives.push(path);
        } else {
            candidates.push(Candidate {
                name: name.to_owned(),
                place: Location::File(path),
            });
        }
    }
    if candidates.iter().all(|candidate| !candidate.is_binary()) && prefix.is_none() {
        match &archives[..] {
            [] => {}
            [archive] => return find(archive, options),
            _ => {
                let what = format!(
                    "it has {} archives and no rank files: name one archive",
                    archives.len()
                );
                return Err(unsupported(folder, what));
            }
        }
    }
    choose(folder, candidates, prefix, options)
}

fn in_archive(
    file: &Region,
    compression: Compression,
    options: &OpenOptions,
) -> Result<Files, TraceError> {
    let (found, error) = members(file, compression, options)?;
    let candidates = found
        .into_iter()
        .map(|Member { name, contents }| Candidate {
            name,
            place: Location::Part(contents),
        })
        .collect();
    let mut files = choose(file.name(), candidates, None, options)?;
    if let Some(error) = error {
        let there = ranges(&files.ranks);
        files.run.notices.push(format!(
            "{error}; salvaged {there}, and later ranks are missing"
        ));
    }
    Ok(files)
}

fn has_traces(folder: &Path) -> bool {
    let names = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name());
    names
        .filter_map(|it| it.into_string().ok())
        .any(|it| is_archive(&it) || rank_name(&it).is_some())
}

struct Candidate {
    name: String,
    place: Location,
}

impl Candidate {
    fn split(&self) -> (&str, &str) {
        self.name.rsplit_once('/').unwrap_or(("", &self.name))
    }

    fn is_binary(&self) -> bool {
        rank_name(self.split().1).is_some_and(|name| name.content == Content::Binary)
    }
}

/// Selects the files of one run. Binary files have precedence over texts.
fn choose(
    within: &Path,
    mut candidates: Vec<Candidate>,
    prefix: Option<&str>,
    options: &OpenOptions,
) -> Result<Files, TraceError> {
    candidates.sort_by(|a, b| a.name.cmp(&b.name));
    // Runs by content, folder and prefix. Of two files of a rank, the shorter name is uncompressed.
    let mut runs: BTreeMap<(Content, String, String), BTreeMap<Rank, Location>> = BTreeMap::new();
    for candidate in &candidates {
        let (folder, name) = candidate.split();
        let Some(name) =
            rank_name(name).filter(|name| prefix.is_none_or(|prefix| prefix == name.prefix))
        else {
            continue;
        };
        let key = (name.content, folder.to_owned(), name.prefix.to_owned());
        runs.entry(key)
            .or_default()
            .entry(name.rank)
            .or_insert_with(|| candidate.place.clone());
    }
    let content = runs.keys().next().map(|(content, ..)| *content);
    runs.retain(|(other, ..), _| Some(*other) == content);
    let Some(((_, folder, prefix), ranks)) = runs.pop_first() else {
        let what =
            "no trace files found (expected NAME-0000.bin or .txt, optionally .xz, .gz or .zst)";
        let inside = candidates
            .iter()
            .find_map(|candidate| match &candidate.place {
                Location::File(path) if has_traces(path) => Some(path.display()),
                _ => None,
            });
        let hint = inside.map_or(String::new(), |path| format!("; did you mean {path}?"));
        return Err(unsupported(within, format!("{what}{hint}")));
    };
    if let Some((_, _, other)) = runs.keys().next() {
        let what = format!(
            "it has {} traces, such as {prefix} and {other}: name the .meta file of one",
            1 + runs.len()
        );
        return Err(unsupported(within, what));
    }
    let meta = candidates.iter().find(|candidate| {
        let (its_folder, name) = candidate.split();
        its_folder == folder && name.strip_suffix(".meta") == Some(&prefix)
    });
    let mut run = meta
        .map(|meta| describe(&meta.place))
        .transpose()?
        .unwrap_or_default();
    let sites = candidates.iter().filter_map(|candidate| {
        let (its_folder, name) = candidate.split();
        let (its_prefix, rank) = sites_name(name)?;
        let belongs = its_folder == folder && its_prefix == prefix;
        belongs.then(|| (rank, candidate.place.clone()))
    });
    let sites = sites.collect();
    let (ranks, places): (Vec<_>, Vec<_>) = ranks.into_iter().unzip();
    match run.processes {
        Some(processes) if ranks.len() != processes as usize => {
            let there = ranges(&ranks);
            run.notices.push(format!(
                "the run had {processes} ranks; the trace has {there} only"
            ));
        }
        _ => {}
    }
    Ok(Files {
        run,
        ranks,
        places,
        sites,
        options: options.clone(),
    })
}

/// Reads a description: lines `key=value`.
fn describe(place: &Location) -> Result<RunInfo, TraceError> {
    let file = place.region()?;
    let mut text = file.bytes_at(0, META_BYTES_MAX)?;
    let mut run = RunInfo::default();
    if file.length() > META_BYTES_MAX {
        // The last line may be a part of one.
        let whole = text.iter().rposition(|&byte| byte == b'\n');
        text.truncate(whole.unwrap_or_default());
        run.notices.push(format!(
            "{} is longer than {META_BYTES_MAX} bytes: its lines beyond are not read",
            file.name().display()
        ));
    }
    let text = String::from_utf8_lossy(&text);
    for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
        match key {
            "numprocs" => run.processes = value.trim().parse().ok(),
            "hostname" => run.hostname = Some(value.to_owned()),
            // The recorder's spelling.
            "startime" => run.start_s = value.trim().parse().ok(),
            // What this project's recorder left out or guessed (docs/record.md).
            "note" => run.notices.push(format!("the recorder: {value}")),
            _ => {}
        }
    }
    Ok(run)
}
