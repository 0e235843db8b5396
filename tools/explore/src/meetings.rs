//! At which words the handlers of a block meet.
//!
//! Two accesses meet if they are of two workers, in one place, and one of them writes. A step is an
//! access of an atomic word and what follows up to the next one. A step without such an access
//! commutes with all steps of the others. So a switch before it leads to nothing that the same
//! switch after it does not, with as many preemptions.
//!
//! Nobody knows in advance which accesses meet. So the schedules of a bound run with switches at
//! the known words, and again if they show another one. After the last time, no step between two
//! switches meets a step of another worker: the first one that did in a schedule left out would
//! come after steps that commute, so a schedule that ran would have shown it.

/// The accesses of a place in the blocks so far.
#[derive(Clone, Debug, Default)]
struct Place {
    /// Bitmaps of workers.
    by: u64,
    written_by: u64,
    /// The words that begin the steps with these accesses.
    leads: Vec<u32>,
}

/// Words that begin steps which meet another worker's. Ascending.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Meets {
    words: Vec<u32>,
    /// Those whose steps also meet elsewhere, at cells.
    at_cells: Vec<u32>,
}

impl Meets {
    pub(crate) fn count(&self) -> usize {
        self.words.len()
    }

    /// Whether a step that begins with this word may meet another worker's.
    pub(crate) fn has(&self, word: u32) -> bool {
        self.words.binary_search(&word).is_ok()
    }

    /// Whether such a step meets another worker's at this word, and nowhere else.
    pub(crate) fn only_at(&self, word: u32) -> bool {
        self.at_cells.binary_search(&word).is_err()
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Meetings {
    places: Vec<Place>,
}

impl Meetings {
    /// A worker's step that begins with `lead` accesses the place. Constant time.
    pub(crate) fn note(&mut self, place: u32, worker: usize, writes: bool, lead: Option<u32>) {
        let place = self.place(place);
        place.by |= 1 << worker;
        place.written_by |= u64::from(writes) << worker;
        if let Some(lead) = lead
            && !place.leads.contains(&lead)
        {
            place.leads.push(lead);
        }
    }

    fn place(&mut self, place: u32) -> &mut Place {
        let place = place as usize;
        if place >= self.places.len() {
            self.places.resize(place + 1, Place::default());
        }
        &mut self.places[place]
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (at, more) in (0..).zip(&other.places) {
            let place = self.place(at);
            place.by |= more.by;
            place.written_by |= more.written_by;
            for lead in &more.leads {
                if !place.leads.contains(lead) {
                    place.leads.push(*lead);
                }
            }
        }
    }

    pub(crate) fn meets(&self) -> Meets {
        let mut all = Meets::default();
        for (at, place) in (0..).zip(&self.places) {
            if place.written_by != 0 && place.by.count_ones() > 1 {
                all.words.extend(&place.leads);
                all.at_cells
                    .extend(place.leads.iter().filter(|&&lead| lead != at));
            }
        }
        for words in [&mut all.words, &mut all.at_cells] {
            words.sort_unstable();
            words.dedup();
        }
        all
    }

    /// Number of places that were accessed.
    pub(crate) fn accessed(&self) -> usize {
        self.places.iter().filter(|place| place.by != 0).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_write_and_an_access_of_another_worker_meet() {
        let mut all = Meetings::default();
        // Two readers; a lone writer, also of its cell.
        for (place, worker, writes) in [(1, 0, false), (1, 1, false), (2, 1, true), (2, 1, false)] {
            all.note(place, worker, writes, Some(place));
        }
        all.note(9, 1, true, Some(2));
        assert_eq!((all.meets().count(), all.accessed()), (0, 3));
        // A cell: both steps meet, by the words that began them.
        let mut other = Meetings::default();
        other.note(9, 0, false, Some(5));
        other.note(9, 2, false, None);
        assert_eq!(other.meets().count(), 0);
        all.add(&other);
        let meets = all.meets();
        assert_eq!((&meets.words, &meets.at_cells), (&vec![2, 5], &vec![2, 5]));
        // A word that a second worker writes.
        all.note(1, 2, true, Some(1));
        let meets = all.meets();
        assert_eq!((meets.count(), all.accessed()), (3, 3));
        assert!(meets.has(1) && meets.only_at(1) && !meets.only_at(2) && !meets.has(9));
    }
}
