//! Keyboards, pointers and tablets. Of their events nothing but the time is kept.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::fs::inotify::WatchFlags;

use super::ObservedSource;
use super::file_events::FileEvents;
use crate::clock::BothClocks;
use crate::settings::PresenceSource;
use crate::state::PresenceObservation;

/// The length of an event, `struct input_event` of a 64-bit system, and the place of its type.
const EVENT_BYTES: usize = 24;
const TYPE_AT: usize = 16;
/// The types of events that people cause: keys, movements, positions.
const KEY_TO_POSITION: std::ops::RangeInclusive<u16> = 1..=3;
/// The bit of `properties` of a sensor that measures how the computer itself moves.
const IS_ACCELEROMETER: u32 = 6;

pub(crate) struct InputDeviceSource {
    directory: PathBuf,
    /// The directory that describes the devices.
    class: PathBuf,
    events: Result<FileEvents, io::Error>,
    devices: BTreeMap<PathBuf, File>,
    /// The error of a device that could not be opened.
    unreadable: Option<String>,
    is_first_look: bool,
}

impl InputDeviceSource {
    pub(crate) fn new(root: &Path) -> Self {
        let directory = root.join("dev/input");
        let mut source = Self {
            class: root.join("sys/class/input"),
            events: watch(&directory),
            directory,
            devices: BTreeMap::new(),
            unreadable: None,
            is_first_look: true,
        };
        source.open_devices();
        source
    }

    /// Opens the devices that are not open.
    fn open_devices(&mut self) {
        self.unreadable = None;
        let entries = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let names: Vec<String> = names.filter(|name| name.starts_with("event")).collect();
        for name in names {
            let path = self.directory.join(&name);
            if self.devices.contains_key(&path) || self.is_sensor(&name) {
                continue;
            }
            let mut options = OpenOptions::new();
            let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
            let options = options.read(true).custom_flags(flags.bits().cast_signed());
            match options.open(&path) {
                Ok(device) => drop(self.devices.insert(path, device)),
                Err(error) => self.unreadable = Some(format!("{}: {error}", path.display())),
            }
        }
    }

    /// Returns whether a device measures the movement of the computer, and none of a person.
    fn is_sensor(&self, name: &str) -> bool {
        let properties = self.class.join(name).join("device/properties");
        let text = fs::read_to_string(properties).unwrap_or_default();
        let last = text.split_whitespace().next_back();
        let bits = last.and_then(|word| u64::from_str_radix(word, 16).ok());
        bits.is_some_and(|bits| bits >> IS_ACCELEROMETER & 1 == 1)
    }

    /// Reads all events. Returns whether a person has caused one.
    fn read_events(&mut self) -> bool {
        let mut is_used = false;
        self.devices.retain(|_, device| {
            let (is_used_here, is_there) = read_device(device);
            is_used |= is_used_here;
            is_there
        });
        is_used
    }
}

impl ObservedSource for InputDeviceSource {
    fn source(&self) -> PresenceSource {
        PresenceSource::InputDevices
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let devices = self.devices.values().map(File::as_fd);
        devices
            .chain(self.events.iter().map(FileEvents::as_fd))
            .collect()
    }

    fn next_look(&self) -> Option<Duration> {
        self.is_first_look.then_some(Duration::ZERO)
    }

    /// The first look counts as an activity: the devices do not say when they were used last.
    fn look(&mut self, now: BothClocks) -> Vec<PresenceObservation> {
        let is_first = std::mem::take(&mut self.is_first_look);
        let has_changes = self
            .events
            .as_ref()
            .is_ok_and(|events| !events.take().is_empty());
        if has_changes {
            self.open_devices();
        }
        let is_used = self.read_events() || (is_first && !self.devices.is_empty());
        let activity = PresenceObservation::Activity(PresenceSource::InputDevices, now.boot);
        is_used.then_some(activity).into_iter().collect()
    }

    fn problem(&self) -> Option<String> {
        match (&self.events, &self.unreadable) {
            (Err(error), _) => Some(format!("{}: {error}", self.directory.display())),
            (Ok(_), Some(error)) => Some(error.clone()),
            (Ok(_), None) if self.devices.is_empty() => {
                Some(format!("{}: no input devices", self.directory.display()))
            }
            (Ok(_), None) => None,
        }
    }
}

/// Watches for devices that are plugged in, and for those that become readable a moment later.
fn watch(directory: &Path) -> io::Result<FileEvents> {
    let events = FileEvents::new()?;
    events.watch(directory, WatchFlags::CREATE | WatchFlags::ATTRIB)?;
    Ok(events)
}

/// Reads the events of a device. Returns whether a person has caused one, and whether the device is still there.
fn read_device(device: &mut File) -> (bool, bool) {
    let mut is_used = false;
    let mut events = [0; 64 * EVENT_BYTES];
    loop {
        match device.read(&mut events) {
            Ok(0) => return (is_used, false),
            Ok(length) => is_used |= events[..length].chunks_exact(EVENT_BYTES).any(is_of_person),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return (is_used, true),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // The device was unplugged.
            Err(_) => return (is_used, false),
        }
    }
}

fn is_of_person(event: &[u8]) -> bool {
    let kind = u16::from_ne_bytes([event[TYPE_AT], event[TYPE_AT + 1]]);
    KEY_TO_POSITION.contains(&kind)
}
