//! Semihosting calls, as far as the firmware uses them. Files live in memory, so that runs leave
//! nothing behind and can go in parallel.

use std::collections::BTreeMap;

use super::Fault;
use super::memory::Memory;

const FAILED: u64 = u64::MAX;

#[derive(Debug, Default)]
pub(crate) struct Host {
    arguments: String,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) console: String,
    /// By handle minus one: file name and position.
    open: Vec<(String, usize)>,
}

const CONSOLE: &str = ":tt";

impl Host {
    pub(crate) fn new(arguments: String, files: BTreeMap<String, Vec<u8>>) -> Self {
        Self {
            arguments,
            files,
            ..Self::default()
        }
    }

    /// Executes a call; `Err(Ok(code))` ends the run.
    pub(crate) fn call(
        &mut self,
        memory: &mut Memory,
        operation: u64,
        block: u64,
    ) -> Result<u64, Result<i32, Fault>> {
        let word = |index: u64| memory.doubleword(block + 8 * index).ok_or(outside(block));
        match operation {
            // SYS_OPEN: name, mode, length of the name.
            0x01 => {
                let (start, mode, length) = (word(0)?, word(1)?, word(2)?);
                let name = text(memory, start, length)?;
                let writes = mode >= 4;
                if name != CONSOLE {
                    if writes && mode < 8 {
                        self.files.insert(name.clone(), Vec::new());
                    } else if !self.files.contains_key(&name) {
                        return Ok(FAILED);
                    }
                }
                self.open.push((name, 0));
                Ok(self.open.len() as u64)
            }
            // SYS_CLOSE
            0x02 => Ok(0),
            // SYS_WRITE, SYS_READ: handle, memory, length; both return the number of bytes left.
            0x05 => {
                let (handle, start, length) = (word(0)?, word(1)?, word(2)?);
                let bytes = memory.read(start, length as usize).ok_or(outside(start))?;
                let Some((name, _)) = self.opened(handle) else {
                    return Ok(length);
                };
                if name == CONSOLE {
                    self.console += &String::from_utf8_lossy(&bytes);
                } else {
                    self.files.entry(name).or_default().extend(bytes);
                }
                Ok(0)
            }
            0x06 => {
                let (handle, start, length) = (word(0)?, word(1)?, word(2)?);
                let Some((name, at)) = self.opened(handle) else {
                    return Ok(length);
                };
                let file = self
                    .files
                    .get(&name)
                    .map_or(&[][..], |file| &file[at.min(file.len())..]);
                let part = &file[..file.len().min(length as usize)];
                memory.write(start, part).ok_or(outside(start))?;
                let moved = part.len();
                self.open[handle as usize - 1].1 = at + moved;
                Ok(length - moved as u64)
            }
            // SYS_FLEN
            0x0c => {
                let handle = word(0)?;
                let length = |(name, _): (String, usize)| self.files.get(&name).map(Vec::len);
                Ok(self
                    .opened(handle)
                    .and_then(length)
                    .map_or(FAILED, |length| length as u64))
            }
            // SYS_ERRNO: no such file.
            0x13 => Ok(2),
            // SYS_GET_CMDLINE: memory and its length; the text's length goes into the block.
            0x15 => {
                let (start, room) = (word(0)?, word(1)?);
                let mut line = self.arguments.clone().into_bytes();
                line.push(0);
                if line.len() as u64 > room {
                    return Ok(FAILED);
                }
                memory.write(start, &line).ok_or(outside(start))?;
                let length = line.len() as u64 - 1;
                memory
                    .write(block + 8, &length.to_le_bytes())
                    .ok_or(outside(block))?;
                Ok(0)
            }
            // SYS_EXIT, SYS_EXIT_EXTENDED: reason (0x20026: normal end) and code.
            0x18 | 0x20 => {
                let (reason, code) = (word(0)?, word(1)?);
                Err(Ok(if reason == 0x2_0026 { code as i32 } else { 1 }))
            }
            _ => Err(Err(Fault::Semihosting { operation })),
        }
    }

    fn opened(&self, handle: u64) -> Option<(String, usize)> {
        self.open.get((handle as usize).wrapping_sub(1)).cloned()
    }
}

fn outside(address: u64) -> Result<i32, Fault> {
    Err(Fault::Outside { pc: 0, address })
}

fn text(memory: &Memory, start: u64, length: u64) -> Result<String, Result<i32, Fault>> {
    let bytes = memory.read(start, length as usize).ok_or(outside(start))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
