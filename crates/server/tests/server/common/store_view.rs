//! A second look at the store of a service, which sees every commit.

use std::cell::{OnceCell, Ref, RefCell};
use std::path::Path;

use rusqlite::Connection;
use tollgate_store::{Store, StoreReader};

/// The open connections to a store. A check after every step would spend its time opening them.
pub(crate) struct StoreView {
    pub(crate) reader: StoreReader,
    pub(crate) connection: Connection,
}

/// The view of a store, opened at its first use.
#[derive(Default)]
pub(crate) struct StoreViewCache(RefCell<OnceCell<StoreView>>);

impl StoreViewCache {
    pub(crate) fn get(&self, store: &Path) -> Ref<'_, StoreView> {
        Ref::map(self.0.borrow(), |view| {
            view.get_or_init(|| StoreView {
                reader: Store::open(store).unwrap().reader().unwrap(),
                connection: Connection::open(store).unwrap(),
            })
        })
    }

    /// Closes the connections, before the next service opens the store.
    pub(crate) fn close(&self) {
        self.0.take();
    }
}
