//! Doubly linked first-in-first-out chains through the nodes of a slab.
//!
//! A node has one link per *lane*, so that it can be in several chains at a time (an unexpected
//! message is in four, O22). The slab reuses freed nodes, so an engine whose queues stopped
//! growing does not allocate.

const NIL: u32 = u32::MAX;

/// Marks a free node, instead of its predecessor in lane 0.
const FREE: u32 = u32::MAX - 1;

/// First and last node of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    head: u32,
    tail: u32,
}

impl Chain {
    /// A chain of no nodes.
    pub const EMPTY: Self = Self {
        head: NIL,
        tail: NIL,
    };

    /// Whether it has no nodes.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.head == NIL
    }

    /// The oldest node.
    #[inline]
    pub fn first(self) -> Option<u32> {
        (self.head != NIL).then_some(self.head)
    }
}

/// One chain of each queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) posted: Chain,
    pub(super) unexpected: Chain,
}

impl Head {
    pub(super) const EMPTY: Self = Self {
        posted: Chain::EMPTY,
        unexpected: Chain::EMPTY,
    };
}

/// Upper bound on the bytes of a vector that grew one by one to `items` elements of `size` bytes.
/// It starts with 4 elements, or 8 of a single byte, and doubles.
pub const fn vec_bound(items: u64, size: usize) -> u64 {
    if items == 0 {
        return 0;
    }
    let slots = 2 * items;
    (if slots < 8 { 8 } else { slots }) * size as u64
}

#[derive(Clone, Copy, Debug)]
struct Link {
    prev: u32,
    next: u32,
}

impl Link {
    const NONE: Self = Self {
        prev: NIL,
        next: NIL,
    };
}

#[derive(Clone, Copy, Debug)]
struct Node<T, const LANES: usize> {
    item: T,
    links: [Link; LANES],
}

/// Nodes by index, in use or free.
#[derive(Clone, Debug)]
pub struct Slab<T, const LANES: usize> {
    nodes: Vec<Node<T, LANES>>,
    /// First free node; the others follow through lane 0.
    free: u32,
    live: u32,
}

impl<T: Copy, const LANES: usize> Default for Slab<T, LANES> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy, const LANES: usize> Slab<T, LANES> {
    /// No nodes, no memory.
    pub const fn new() -> Self {
        Self {
            nodes: Vec::new(),
            free: NIL,
            live: 0,
        }
    }

    /// A node that holds `item` and is in no chain.
    ///
    /// # Panics
    /// With 2^32 - 2 nodes in use (more than 128 GiB of them).
    #[inline]
    pub fn insert(&mut self, item: T) -> u32 {
        let node = Node {
            item,
            links: [Link::NONE; LANES],
        };
        let at = self.free;
        if at == NIL {
            let at = u32::try_from(self.nodes.len()).ok().filter(|&at| at < FREE);
            self.nodes.push(node);
            self.live += 1;
            at.expect("fewer than 2^32 - 2 entries")
        } else {
            self.free = self.nodes[at as usize].links[0].next;
            self.nodes[at as usize] = node;
            self.live += 1;
            at
        }
    }

    /// Frees a node that is in no chain any more.
    #[inline]
    pub fn remove(&mut self, at: u32) -> T {
        let node = &mut self.nodes[at as usize];
        node.links[0] = Link {
            prev: FREE,
            next: self.free,
        };
        self.free = at;
        self.live -= 1;
        node.item
    }

    /// The item of a node in use.
    #[inline]
    pub fn get(&self, at: u32) -> &T {
        &self.nodes[at as usize].item
    }

    /// The item of a node; `None` if the node is free or does not exist.
    #[inline]
    pub fn find(&self, at: u32) -> Option<&T> {
        let node = self.nodes.get(at as usize)?;
        (node.links[0].prev != FREE).then_some(&node.item)
    }

    /// The node after this one in its chain.
    #[inline]
    pub fn after(&self, at: u32, lane: usize) -> Option<u32> {
        let next = self.nodes[at as usize].links[lane].next;
        (next != NIL).then_some(next)
    }

    /// The item of a node in use, mutable.
    #[inline]
    pub fn get_mut(&mut self, at: u32) -> &mut T {
        &mut self.nodes[at as usize].item
    }

    /// All nodes in use, in no particular order.
    pub fn live(&self) -> impl Iterator<Item = (u32, &T)> {
        let nodes = (0..).zip(&self.nodes);
        nodes
            .filter(|(_, node)| node.links[0].prev != FREE)
            .map(|(at, node)| (at, &node.item))
    }

    /// Number of nodes in use.
    pub fn len(&self) -> u32 {
        self.live
    }

    /// Whether no node is in use.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Frees the memory. No node may be in use.
    pub fn release(&mut self) {
        debug_assert!(self.is_empty(), "nodes in use cannot be released");
        *self = Self::new();
    }

    /// Bytes taken, free nodes included.
    pub fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node<T, LANES>>()
    }

    /// Upper bound on the bytes with at most `nodes` in use at a time.
    pub const fn bytes_bound(nodes: u64) -> u64 {
        vec_bound(nodes, size_of::<Node<T, LANES>>())
    }

    /// Puts a node at the end of a chain. Returns whether the chain had nodes.
    #[inline]
    pub fn push_back(&mut self, chain: &mut Chain, lane: usize, at: u32) -> bool {
        let in_use = !chain.is_empty();
        self.nodes[at as usize].links[lane] = Link {
            prev: chain.tail,
            next: NIL,
        };
        match chain.tail {
            NIL => chain.head = at,
            tail => self.nodes[tail as usize].links[lane].next = at,
        }
        chain.tail = at;
        in_use
    }

    /// Unlinks a node from its chain, at any position.
    #[inline]
    pub fn unlink(&mut self, chain: &mut Chain, lane: usize, at: u32) {
        let Link { prev, next } = self.nodes[at as usize].links[lane];
        match prev {
            NIL => chain.head = next,
            prev => self.nodes[prev as usize].links[lane].next = next,
        }
        match next {
            NIL => chain.tail = prev,
            next => self.nodes[next as usize].links[lane].prev = prev,
        }
    }

    /// Takes the oldest node out of a chain.
    #[inline]
    pub fn pop_front(&mut self, chain: &mut Chain, lane: usize) -> Option<u32> {
        let at = chain.head;
        if at == NIL {
            return None;
        }
        self.unlink(chain, lane, at);
        Some(at)
    }

    /// The nodes of a chain from the oldest on.
    #[inline]
    pub fn walk(&self, chain: Chain, lane: usize) -> impl Iterator<Item = (u32, &T)> {
        let mut at = chain.head;
        std::iter::from_fn(move || {
            let node = self.nodes.get(at as usize)?;
            let here = at;
            at = node.links[lane].next;
            Some((here, &node.item))
        })
    }
}
