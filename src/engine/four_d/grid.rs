//! The structure of the four-dimensional engine: planes, their arrays, segments, and the pools they
//! come from.

use super::super::chain::{Chain, vec_bound};
use super::{SEGMENT_BYTES, plane_bytes};

/// "No plane", "no segment".
const NIL: u32 = u32::MAX;

/// Maximum bits of a slice: a quarter of the 31 bits of a rank.
const BITS_MAX: usize = 8;

/// The ranks that share all slices but the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// PRQ and UMQ.
    pub(super) chains: [Chain; 2],
    y: u32,
    /// Neighbours in the list of the array's element, by rising y.
    prev: u32,
    next: u32,
    plane: u32,
    x: u32,
}

/// The ranks that share the first slice. Its array of lists of segments is stored with it in the
/// pool.
#[derive(Clone, Copy, Debug)]
struct Plane {
    coordinate: u32,
    /// Neighbours in the communicator's list, by rising coordinate.
    prev: u32,
    next: u32,
    segments: u32,
}

/// Planes with arrays of the same length. The array of plane `i` is `xs[i << bits ..]`.
#[derive(Clone, Debug, Default)]
struct PlanePool {
    planes: Vec<Plane>,
    xs: Vec<u32>,
    /// First segments, by their numbers.
    free: Vec<u32>,
}

/// Planes and segments of all communicators. Free ones are kept for reuse.
#[derive(Clone, Debug, Default)]
pub(super) struct Pools {
    /// By the width of a slice.
    planes: [PlanePool; BITS_MAX + 1],
    segments: Vec<Segment>,
    free_segments: Vec<u32>,
}

impl Pools {
    #[inline]
    pub(super) fn segment(&self, at: u32) -> &Segment {
        &self.segments[at as usize]
    }

    #[inline]
    pub(super) fn segment_mut(&mut self, at: u32) -> &mut Segment {
        &mut self.segments[at as usize]
    }

    fn take_segment(&mut self, segment: Segment) -> u32 {
        match self.free_segments.pop() {
            Some(at) => {
                self.segments[at as usize] = segment;
                at
            }
            None => {
                self.segments.push(segment);
                self.segments.len() as u32 - 1
            }
        }
    }

    fn take_plane(&mut self, bits: u32, plane: Plane) -> u32 {
        let pool = &mut self.planes[bits as usize];
        match pool.free.pop() {
            // Its array is empty, or it would not have been freed.
            Some(at) => {
                pool.planes[at as usize] = plane;
                at
            }
            None => {
                pool.planes.push(plane);
                pool.xs.resize(pool.planes.len() << bits, NIL);
                pool.planes.len() as u32 - 1
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let planes = self.planes.iter().map(|pool| {
            pool.planes.capacity() * size_of::<Plane>()
                + (pool.xs.capacity() + pool.free.capacity()) * size_of::<u32>()
        });
        let segments = self.segments.capacity() * size_of::<Segment>();
        planes.sum::<usize>() + segments + self.free_segments.capacity() * size_of::<u32>()
    }

    /// Upper bound on the bytes with at most `entries` in grids at a time: each in its own segment
    /// and plane, in turn with every slice width.
    pub(super) fn bytes_bound(entries: u64) -> u64 {
        let planes = (2..=BITS_MAX).map(|bits| {
            vec_bound(entries, size_of::<Plane>())
                + vec_bound(entries << bits, size_of::<u32>())
                + vec_bound(entries, size_of::<u32>())
        });
        planes.sum::<u64>()
            + vec_bound(entries, size_of::<Segment>())
            + vec_bound(entries, size_of::<u32>())
    }

    /// Bytes of the objects in use in the paper's accounting.
    pub(super) fn paper_bytes(&self) -> u64 {
        let in_use = |all: usize, free: usize| (all - free) as u64;
        let planes = self.planes.iter().enumerate().map(|(bits, pool)| {
            in_use(pool.planes.len(), pool.free.len()) * plane_bytes(1 << bits)
        });
        planes.sum::<u64>() + in_use(self.segments.len(), self.free_segments.len()) * SEGMENT_BYTES
    }
}

/// Where a source's entries are, or would be.
#[derive(Clone, Copy, Debug)]
pub(super) struct GridPlace {
    source: u32,
    /// The plane, or else its predecessor.
    plane: Result<u32, u32>,
    /// The segment, or else its predecessor.
    segment: Result<u32, u32>,
}

impl GridPlace {
    pub(super) fn segment(self) -> Option<u32> {
        self.segment.ok()
    }
}

/// A communicator's structure, a list of planes that starts at the lowest.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    bits: u32,
    lowest: u32,
}

impl Grid {
    pub(super) fn new(bits: u32) -> Self {
        Self { bits, lowest: NIL }
    }

    /// Plane, x and y of a source. The plane may be beyond the span: its list has no end.
    pub(super) fn coordinates(&self, source: u32) -> [u32; 3] {
        let segment = source >> self.bits;
        let mask = (1 << self.bits) - 1;
        [
            segment >> (2 * self.bits),
            (segment >> self.bits) & mask,
            segment & mask,
        ]
    }

    #[inline]
    fn pool<'a>(&self, pools: &'a Pools) -> &'a PlanePool {
        &pools.planes[self.bits as usize]
    }

    /// Searches for a source's segment and counts the steps: each plane or segment of the ordered
    /// lists, and the array access.
    #[inline]
    pub(super) fn find(&self, pools: &Pools, source: u32, hops: &mut u64) -> GridPlace {
        let [coordinate, x, y] = self.coordinates(source);
        let pool = self.pool(pools);
        let (mut before, mut at) = (NIL, self.lowest);
        while at != NIL {
            *hops += 1;
            let plane = &pool.planes[at as usize];
            if plane.coordinate >= coordinate {
                break;
            }
            (before, at) = (at, plane.next);
        }
        if at == NIL || pool.planes[at as usize].coordinate != coordinate {
            return GridPlace {
                source,
                plane: Err(before),
                segment: Err(NIL),
            };
        }
        let plane = Ok(at);
        *hops += 1;
        let (mut before, mut at) = (NIL, pool.xs[((at << self.bits) + x) as usize]);
        while at != NIL {
            *hops += 1;
            let segment = pools.segment(at);
            if segment.y >= y {
                break;
            }
            (before, at) = (at, segment.next);
        }
        let found = at != NIL && pools.segment(at).y == y;
        GridPlace {
            source,
            plane,
            segment: if found { Ok(at) } else { Err(before) },
        }
    }

    /// The segment of a source, made if there is none; `place` is where the search just before
    /// ended.
    #[inline]
    pub(super) fn insert(
        &mut self,
        pools: &mut Pools,
        source: u32,
        place: Option<GridPlace>,
    ) -> u32 {
        let place = place.unwrap_or_else(|| self.find(pools, source, &mut 0));
        debug_assert_eq!(
            place.source, source,
            "an insertion follows the search for the same source"
        );
        place
            .segment
            .unwrap_or_else(|before| self.insert_segment(pools, place, before))
    }

    fn insert_segment(&mut self, pools: &mut Pools, place: GridPlace, before: u32) -> u32 {
        let [coordinate, x, y] = self.coordinates(place.source);
        let plane = place
            .plane
            .unwrap_or_else(|before| self.insert_plane(pools, coordinate, before));
        let slot = ((plane << self.bits) + x) as usize;
        let pool = &mut pools.planes[self.bits as usize];
        pool.planes[plane as usize].segments += 1;
        let next = if before == NIL {
            pool.xs[slot]
        } else {
            pools.segments[before as usize].next
        };
        let chains = [Chain::EMPTY; 2];
        let at = pools.take_segment(Segment {
            chains,
            y,
            prev: before,
            next,
            plane,
            x,
        });
        if before == NIL {
            pools.planes[self.bits as usize].xs[slot] = at;
        } else {
            pools.segment_mut(before).next = at;
        }
        if next != NIL {
            pools.segment_mut(next).prev = at;
        }
        at
    }

    fn insert_plane(&mut self, pools: &mut Pools, coordinate: u32, before: u32) -> u32 {
        let next = if before == NIL {
            self.lowest
        } else {
            self.pool(pools).planes[before as usize].next
        };
        let at = pools.take_plane(
            self.bits,
            Plane {
                coordinate,
                prev: before,
                next,
                segments: 0,
            },
        );
        let planes = &mut pools.planes[self.bits as usize].planes;
        if before == NIL {
            self.lowest = at;
        } else {
            planes[before as usize].next = at;
        }
        if next != NIL {
            planes[next as usize].prev = at;
        }
        at
    }

    /// Frees a segment without entries, and its plane if that was the last.
    #[inline]
    pub(super) fn remove_if_empty(&mut self, pools: &mut Pools, at: u32) {
        let Segment {
            chains,
            prev,
            next,
            plane,
            x,
            ..
        } = *pools.segment(at);
        if chains.iter().any(|chain| !chain.is_empty()) {
            return;
        }
        if prev == NIL {
            pools.planes[self.bits as usize].xs[((plane << self.bits) + x) as usize] = next;
        } else {
            pools.segment_mut(prev).next = next;
        }
        if next != NIL {
            pools.segment_mut(next).prev = prev;
        }
        pools.free_segments.push(at);
        let pool = &mut pools.planes[self.bits as usize];
        let Plane {
            prev,
            next,
            ref mut segments,
            ..
        } = pool.planes[plane as usize];
        *segments -= 1;
        if *segments > 0 {
            return;
        }
        if prev == NIL {
            self.lowest = next;
        } else {
            pool.planes[prev as usize].next = next;
        }
        if next != NIL {
            pool.planes[next as usize].prev = prev;
        }
        pool.free.push(plane);
    }

    /// All segments, lowest rank first; every plane, array element and segment is a step.
    pub(super) fn segments<'a>(
        &self,
        pools: &'a Pools,
        hops: &'a mut u64,
    ) -> impl Iterator<Item = u32> + use<'a> {
        let pool = self.pool(pools);
        let span = 1_usize << self.bits;
        let (mut plane, mut x, mut segment) = (self.lowest, 0, NIL);
        std::iter::from_fn(move || {
            while segment == NIL {
                if plane == NIL {
                    return None;
                }
                if x == span {
                    (plane, x) = (pool.planes[plane as usize].next, 0);
                    continue;
                }
                *hops += 1 + u64::from(x == 0);
                segment = pool.xs[plane as usize * span + x];
                x += 1;
            }
            *hops += 1;
            let here = segment;
            segment = pools.segment(here).next;
            Some(here)
        })
    }
}
