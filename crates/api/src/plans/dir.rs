//! Where drawings are kept: a file for each event, or what all nodes share.

use super::Drawing;
use onrush_base::beside::beside;
use onrush_base::cluster_store::ClusterStore;
use onrush_core::ids::EventId;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The directory with the drawings.
#[derive(Clone)]
pub struct PlanDir {
    dir: PathBuf,
    /// What all nodes share, if there are several.
    cluster: Option<Arc<dyn ClusterStore>>,
}

/// A drawing that was added, and what there was before.
pub struct Added {
    event: EventId,
    before: Option<Vec<u8>>,
    after: Vec<u8>,
}

impl Added {
    fn new(event: &EventId, before: Option<Vec<u8>>, drawing: Drawing) -> io::Result<Self> {
        let merged = match parsed(before.as_deref())? {
            None => drawing,
            Some(before) => before.with(drawing),
        };
        Ok(Self { event: event.clone(), before, after: serde_json::to_vec(&merged)? })
    }
}

impl PlanDir {
    /// Opens the directory below `data`, and makes it if need be.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn open(data: &Path, cluster: Option<Arc<dyn ClusterStore>>) -> io::Result<Self> {
        let dir = data.join("plans");
        fs::create_dir_all(&dir)?;
        Ok(Self { dir, cluster })
    }

    /// An event's drawing, if a map was imported.
    ///
    /// # Errors
    /// Whatever the file system or the database says, or what is wrong in the file.
    pub async fn load(&self, event: &EventId) -> io::Result<Option<Drawing>> {
        let bytes = match &self.cluster {
            Some(cluster) => cluster.fetch(shared_name(event)).await?,
            None => {
                let (plans, event) = (self.clone(), event.clone());
                beside(move || plans.read(&event)).await.map_err(io::Error::other)??
            }
        };
        parsed(bytes.as_deref())
    }

    /// Adds a drawing to what there is, durably: after a crash there is the old file or the new one.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub async fn add(&self, event: &EventId, drawing: Drawing) -> io::Result<Added> {
        let Some(cluster) = &self.cluster else {
            let (plans, event) = (self.clone(), event.clone());
            let added = beside(move || {
                let added = Added::new(&event, plans.read(&event)?, drawing)?;
                plans.write(&event, &added.after)?;
                Ok(added)
            });
            return added.await.map_err(io::Error::other)?;
        };
        loop {
            let before = cluster.fetch(shared_name(event)).await?;
            let added = Added::new(event, before, drawing.clone())?;
            let (before, after) = (added.before.clone(), added.after.clone());
            // Somebody else may have imported another map meanwhile: then both are wanted.
            if cluster.replace(shared_name(event), before, after).await? {
                return Ok(added);
            }
        }
    }

    /// Has a drawing be again what it was before one was added whose seats surely were not. One that
    /// was changed since stays: of seats, only those that exist are ever shown.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub async fn take_back(&self, added: Added) -> io::Result<()> {
        let Added { event, before, after } = added;
        let before = match before {
            Some(before) => before,
            None => serde_json::to_vec(&Drawing::default())?,
        };
        if let Some(cluster) = &self.cluster {
            return cluster.replace(shared_name(&event), Some(after), before).await.map(drop);
        }
        let plans = self.clone();
        let taken = beside(move || match plans.read(&event)? {
            Some(present) if present == after => plans.write(&event, &before),
            Some(_) | None => Ok(()),
        });
        taken.await.map_err(io::Error::other)?
    }

    fn read(&self, event: &EventId) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.path(event)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn write(&self, event: &EventId, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(event);
        let aside = path.with_extension("json.tmp");
        let mut file = File::create(&aside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&aside, &path)?;
        // The directory may be as new as the file: then its own name has to be durable as well.
        let above = self.dir.parent().unwrap_or(Path::new("."));
        [self.dir.as_path(), above].into_iter().try_for_each(|dir| File::open(dir)?.sync_all())
    }

    fn path(&self, event: &EventId) -> PathBuf {
        // A leading dot would make `.` and `..` special; an id has no slash.
        self.dir.join(format!("plan-{event}.json"))
    }
}

fn shared_name(event: &EventId) -> String {
    format!("plans/plan-{event}.json")
}

fn parsed(bytes: Option<&[u8]>) -> io::Result<Option<Drawing>> {
    bytes.map(serde_json::from_slice).transpose().map_err(io::Error::from)
}
