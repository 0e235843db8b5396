//! An engine of a library as an [`Engine`]. Each answer is checked against what the queues hold, so
//! that no caller meets an id that it has not given to the engine, or meets one twice.

use std::cell::RefCell;
use std::sync::OnceLock;

use dpamatch_vocabulary::{CommId, Envelope, Selector};

use super::{FAILED, Found, Key, Library, List, Sizes, State};
use crate::engine::id_table::IdTable;
use crate::engine::{Counter, Engine, Load, MsgId, QueueStats, RecvId, Stats};

/// More steps than any search takes, and few enough that their sum is a number.
const STEPS_MAX: u64 = 1 << 40;

/// The first wrong answer of any library in this process.
static FIRST_FAULT: OnceLock<String> = OnceLock::new();

/// The first answer of a library's engine in this process that no engine can give, in one line
/// with the library's path. What the process computed with that engine is wrong.
pub fn fault() -> Option<&'static str> {
    FIRST_FAULT.get().map(String::as_str)
}

/// The entries of a queue: the id of each and its communicator.
#[derive(Debug)]
struct Held {
    entries: IdTable,
    /// What an entry is.
    word: &'static str,
    /// What an entry in the queue is.
    state: &'static str,
}

impl Held {
    fn new(word: &'static str, state: &'static str) -> Self {
        Self {
            entries: IdTable::new(),
            word,
            state,
        }
    }

    fn insert(&mut self, id: u64, comm: CommId) {
        self.entries.set(id, place(comm));
    }

    fn has(&self, id: u64) -> bool {
        self.entries.get(id).is_some()
    }

    fn is_empty(&self, comm: CommId) -> bool {
        self.entries.iter().all(|(_, held)| held != place(comm))
    }

    /// Why these are not the ids of all entries, each once.
    fn compare(&self, ids: &[u64], count: usize) -> Result<(), String> {
        let Self { word, state, .. } = self;
        let length = self.entries.iter().count();
        if count != length {
            return Err(format!("{count} {word}s, and {length} are {state}"));
        }
        let mut seen = IdTable::new();
        for &id in ids {
            if !self.has(id) {
                return Err(format!("{word} {id}, which is not {state}"));
            }
            if seen.get(id).is_some() {
                return Err(format!("{word} {id} twice"));
            }
            seen.set(id, 0);
        }
        Ok(())
    }
}

/// A communicator as a value of a table, which has no room for the largest number.
fn place(comm: CommId) -> u32 {
    comm.0.min(u32::MAX - 1)
}

/// An engine that a library made.
pub(crate) struct Plugin {
    library: &'static Library,
    state: State,
    stats: Stats,
    receives: Held,
    messages: Held,
    /// The first answer that no engine can give. The library is not called after it. A cell,
    /// because the calls that only look may find it.
    fault: RefCell<Option<String>>,
}

// SAFETY: the interface allows calls from any thread, one at a time.
unsafe impl Send for Plugin {}

impl Drop for Plugin {
    fn drop(&mut self) {
        // SAFETY: `create` returned the state, and this is its last use.
        unsafe { (self.library.table.destroy)(self.state) }
    }
}

impl Plugin {
    /// Makes one with empty queues; `None` if the library cannot.
    pub(crate) fn new(library: &'static Library, sizes: Sizes) -> Option<Self> {
        // SAFETY: the table has the functions of its version.
        let state = unsafe { (library.table.create)(&raw const sizes) };
        (!state.is_null()).then(|| Self {
            library,
            state,
            stats: Stats::default(),
            receives: Held::new("receive", "posted"),
            messages: Held::new("message", "unexpected"),
            fault: RefCell::new(None),
        })
    }

    fn is_wrong(&self) -> bool {
        self.fault.borrow().is_some()
    }

    /// Notes that a call gave an answer that no engine can give.
    fn record_fault(&self, call: &str, answer: &str) {
        let Library { path, name, .. } = self.library;
        let words = format!("{path}: the engine {name} is wrong: {call} {answer}");
        FIRST_FAULT.get_or_init(|| words.clone());
        self.fault.borrow_mut().get_or_insert(words);
    }

    /// The id that a search found, if the answer is possible.
    fn checked(&self, call: &str, queue: &Held, hit: bool, found: Found) -> Option<u64> {
        let Found { id, compares, hops } = found;
        let Held { word, state, .. } = queue;
        if compares == FAILED {
            self.record_fault(call, "failed inside the library");
        } else if compares > STEPS_MAX || hops > STEPS_MAX {
            self.record_fault(call, &format!("took {compares} compares and {hops} hops"));
        } else if hit && !queue.has(id) {
            self.record_fault(call, &format!("returned {word} {id}, which is not {state}"));
        } else {
            return hit.then_some(id);
        }
        None
    }

    fn count(&self, queue: &mut QueueStats, hit: bool, found: Found) {
        if !self.is_wrong() {
            queue.searched(found.compares, hit);
            queue.hops += found.hops;
        }
    }

    /// Asks the library for its memory after an insertion.
    fn inserted(&mut self) {
        let (Some(bytes), false) = (self.library.table.bytes, self.is_wrong()) else {
            return;
        };
        // SAFETY: the state is the table's.
        let bytes = unsafe { bytes(self.state) };
        match isize::try_from(bytes) {
            Ok(bytes) => self.stats.set_memory_bytes(bytes.unsigned_abs()),
            Err(_) => self.record_fault("bytes", &format!("returned {bytes}")),
        }
    }

    fn find_message(
        &mut self,
        call: &str,
        take: bool,
        comm: CommId,
        selector: Selector,
    ) -> Option<MsgId> {
        if self.is_wrong() {
            return None;
        }
        let (key, mut found) = (Key::new(comm, selector), Found::default());
        let table = &self.library.table;
        let function = if take { table.mprobe } else { table.probe };
        // SAFETY: the state is the table's, and both pointers are valid for the call.
        let hit = unsafe { function(self.state, &raw const key, &raw mut found) };
        let message = self.checked(call, &self.messages, hit, found);
        let mut queue = self.stats.umq;
        self.count(&mut queue, message.is_some(), found);
        if let (Some(id), true) = (message, take) {
            self.messages.entries.remove(id);
            queue.removed();
        }
        self.stats.umq = queue;
        message.map(MsgId)
    }

    /// All ids of a queue, oldest first.
    fn ids(&self, call: &str, list: List, queue: &Held, length: u64) -> Vec<u64> {
        if self.is_wrong() {
            return Vec::new();
        }
        let mut ids = vec![0; length as usize];
        // SAFETY: the state is the table's, and the pointer has room for so many ids.
        let count = unsafe { list(self.state, ids.as_mut_ptr(), ids.len()) };
        if count == usize::MAX {
            self.record_fault(call, "failed inside the library");
            return Vec::new();
        }
        if let Err(answer) = queue.compare(&ids, count) {
            self.record_fault(call, &format!("returned {answer}"));
            return Vec::new();
        }
        ids
    }
}

impl Engine for Plugin {
    fn post(&mut self, recv: RecvId, comm: CommId, selector: Selector) -> Option<MsgId> {
        let (key, mut found) = (Key::new(comm, selector), Found::default());
        let mut message = None;
        if !self.is_wrong() {
            let function = self.library.table.post;
            // SAFETY: the state is the table's, and both pointers are valid for the call.
            let hit = unsafe { function(self.state, recv.0, &raw const key, &raw mut found) };
            message = self.checked("post", &self.messages, hit, found);
        }
        let mut queue = self.stats.umq;
        self.count(&mut queue, message.is_some(), found);
        self.stats.umq = queue;
        match message {
            Some(id) => {
                self.messages.entries.remove(id);
                self.stats.umq.removed();
            }
            None => {
                self.receives.insert(recv.0, comm);
                self.stats.prq.inserted(false);
                self.inserted();
            }
        }
        message.map(MsgId)
    }

    fn arrive(&mut self, msg: MsgId, envelope: Envelope) -> Option<RecvId> {
        let key = Key::new(envelope.comm, Selector::new(envelope.source, envelope.tag));
        let mut found = Found::default();
        let mut receive = None;
        if !self.is_wrong() {
            let function = self.library.table.arrive;
            // SAFETY: as in `post`.
            let hit = unsafe { function(self.state, msg.0, &raw const key, &raw mut found) };
            receive = self.checked("arrive", &self.receives, hit, found);
        }
        let mut queue = self.stats.prq;
        self.count(&mut queue, receive.is_some(), found);
        self.stats.prq = queue;
        match receive {
            Some(id) => {
                self.receives.entries.remove(id);
                self.stats.prq.removed();
            }
            None => {
                self.messages.insert(msg.0, envelope.comm);
                self.stats.umq.inserted(false);
                self.inserted();
            }
        }
        receive.map(RecvId)
    }

    fn cancel(&mut self, recv: RecvId) -> bool {
        let held = self.receives.has(recv.0);
        if !self.is_wrong() {
            // SAFETY: the state is the table's.
            let said = unsafe { (self.library.table.cancel)(self.state, recv.0) };
            if said != held {
                let is = if held { "is posted" } else { "is not posted" };
                let answer = format!("returned {said} for receive {}, which {is}", recv.0);
                self.record_fault("cancel", &answer);
            }
        }
        if held {
            self.receives.entries.remove(recv.0);
            self.stats.prq.removed();
        }
        self.stats.cancel_ended(held);
        held
    }

    fn probe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        self.find_message("probe", false, comm, selector)
    }

    fn mprobe(&mut self, comm: CommId, selector: Selector) -> Option<MsgId> {
        self.find_message("mprobe", true, comm, selector)
    }

    fn free_comm(&mut self, comm: CommId) -> bool {
        let empty = self.receives.is_empty(comm) && self.messages.is_empty(comm);
        if !self.is_wrong() {
            // SAFETY: the state is the table's.
            let said = unsafe { (self.library.table.free_comm)(self.state, comm.0) };
            self.compare_emptiness("free_comm", comm, said, empty);
        }
        empty
    }

    fn posted(&self) -> Vec<RecvId> {
        let ids = self.ids(
            "posted",
            self.library.table.posted,
            &self.receives,
            self.stats.prq.length,
        );
        ids.into_iter().map(RecvId).collect()
    }

    fn unexpected(&self) -> Vec<MsgId> {
        let ids = self.ids(
            "unexpected",
            self.library.table.unexpected,
            &self.messages,
            self.stats.umq.length,
        );
        ids.into_iter().map(MsgId).collect()
    }

    fn is_empty(&self, comm: CommId) -> bool {
        let empty = self.receives.is_empty(comm) && self.messages.is_empty(comm);
        if !self.is_wrong() {
            // SAFETY: the state is the table's.
            let said = unsafe { (self.library.table.is_empty)(self.state, comm.0) };
            self.compare_emptiness("is_empty", comm, said, empty);
        }
        empty
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn own_counters(&self) -> Vec<Counter> {
        vec![Counter::new("refused_answers", u64::from(self.is_wrong()))]
    }

    fn fault(&self) -> Option<String> {
        self.fault.borrow().clone()
    }

    /// The library's memory has no known bound.
    fn memory_bound(&self, _load: &Load) -> u64 {
        u64::MAX
    }
}

impl Plugin {
    fn compare_emptiness(&self, call: &str, comm: CommId, said: bool, empty: bool) {
        if said != empty {
            let has = if empty { "has no entry" } else { "has entries" };
            let answer = format!("returned {said} for communicator {}, which {has}", comm.0);
            self.record_fault(call, &answer);
        }
    }
}
