//! `vectors`: streams with the outcomes of correct matching.

use std::fs;
use std::io;
use std::path::Path;

use dpamatch::stream::Profile;

use crate::job::Job;

/// Streams per profile, and events per stream.
const SEEDS: u64 = 4;
const EVENTS: u64 = 2000;

/// Writes the streams into a folder; returns their number.
pub fn write(folder: &Path) -> io::Result<usize> {
    fs::create_dir_all(folder)?;
    let mut count = 0;
    for profile in [
        Profile::Mixed,
        Profile::Hot,
        Profile::Wild,
        Profile::Deep,
        Profile::Keys,
    ] {
        for seed in 0..SEEDS {
            let job = Job::stream(profile, seed, EVENTS);
            let name = format!("{profile}-{seed}");
            fs::write(folder.join(format!("{name}.stream.bin")), &job.stream)?;
            fs::write(folder.join(format!("{name}.outcomes.bin")), &job.expected)?;
            fs::write(folder.join(format!("{name}.stream.txt")), &job.events)?;
            count += 1;
        }
    }
    Ok(count)
}
