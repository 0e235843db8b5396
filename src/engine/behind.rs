//! The engine that matches on the host what a card has no room for.

use dpamatch_vocabulary::choices;

use super::{
    AdaptiveConfig, AdaptiveEngine, ArrayLife, BinEngine, Engine, FourDEngine, GridThreshold,
    ListEngine, OptimisticSeqEngine, RankArrayEngine, SimdEngine, UcxEngine,
};

choices! {
    /// The engine behind a full card. None knows the sizes of communicators.
    #[derive(Hash)]
    pub enum Behind, by default Bins {
        /// Hash bins that grow.
        Bins = "bins",
        /// Two linked lists.
        List = "list",
        /// Two arrays of packed keys.
        Simd = "simd",
        /// Per communicator an array of lists by source.
        RankArray = "rank-array",
        /// The source's rank in four dimensions.
        FourD = "4d",
        /// A hash of full keys, one queue for wildcards.
        Ucx = "ucx",
        /// Four indexes with tables that grow.
        OptimisticSeq = "optimistic-seq",
        /// A list that becomes ranks or bins under load.
        Adaptive = "adaptive",
        /// Four indexes that always hold every message.
        Constant = "constant",
    }
}

impl Behind {
    /// One with empty queues.
    pub fn engine(self) -> Box<dyn Engine> {
        match self {
            Self::Bins => Box::new(BinEngine::growing()),
            Self::List => Box::new(ListEngine::new()),
            Self::Simd => Box::new(SimdEngine::new()),
            Self::RankArray => Box::new(RankArrayEngine::new(ArrayLife::default(), None)),
            Self::FourD => Box::new(FourDEngine::new(GridThreshold::default(), None)),
            Self::Ucx => Box::new(UcxEngine::new()),
            Self::OptimisticSeq => Box::new(OptimisticSeqEngine::new()),
            Self::Adaptive => Box::new(AdaptiveEngine::new(AdaptiveConfig::default(), None)),
            Self::Constant => Box::new(OptimisticSeqEngine::constant()),
        }
    }
}
