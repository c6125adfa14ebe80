//! Tests of input devices and of the battery. Named pipes stand in for devices.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tollgate_model::EvictionCause;
use tollgate_presence::{PresenceMonitor, PresenceSource};

use crate::common::ObservedMonitor;
use crate::desktop::TestDesktop;

const USER: Option<EvictionCause> = Some(EvictionCause::User);

/// A pipe that the test can write to, and that stays open.
fn device(path: &Path) -> File {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.expect("it runs").success());
    let mut options = File::options();
    options.read(true).write(true).open(path).expect("opened")
}

/// Writes an event of a type: 1 is a key, 5 a switch such as that of the lid.
fn press(device: &mut File, kind: u16) {
    let mut event = [0; 24];
    event[16..18].copy_from_slice(&kind.to_ne_bytes());
    device.write_all(&event).expect("written");
}

#[test]
fn key_is_use_and_a_switch_is_none() {
    let desktop = TestDesktop::new();
    let mut keyboard = device(&desktop.path("dev/input/event0"));
    let observed = ObservedMonitor::start(&desktop.settings(PresenceSource::InputDevices));
    // The devices may have been used just before.
    assert_eq!(observed.cause(), USER);
    observed.wait_for(None);
    press(&mut keyboard, 5);
    observed.assert_no_change_for(Duration::from_secs(1));
    press(&mut keyboard, 1);
    observed.wait_for(USER);
    observed.wait_for(None);
}

#[test]
fn device_that_is_plugged_in_is_watched() {
    let desktop = TestDesktop::new();
    let _keyboard = device(&desktop.path("dev/input/event0"));
    let observed = ObservedMonitor::start(&desktop.settings(PresenceSource::InputDevices));
    observed.wait_for(None);
    let mut mouse = device(&desktop.path("pipe"));
    press(&mut mouse, 2);
    fs::hard_link(desktop.path("pipe"), desktop.path("dev/input/event1")).expect("linked");
    observed.wait_for(USER);
}

#[test]
fn sensor_of_the_computers_own_movement_is_no_device_of_a_person() {
    let desktop = TestDesktop::new();
    let mut sensor = device(&desktop.path("dev/input/event0"));
    let _keyboard = device(&desktop.path("dev/input/event1"));
    desktop.write("sys/class/input/event0/device/properties", "40\n");
    desktop.write("sys/class/input/event1/device/properties", "0\n");
    let observed = ObservedMonitor::start(&desktop.settings(PresenceSource::InputDevices));
    observed.wait_for(None);
    press(&mut sensor, 3);
    observed.assert_no_change_for(Duration::from_secs(1));
}

#[test]
fn computer_without_input_devices_has_another_source_or_no_monitor() {
    let desktop = TestDesktop::new();
    let mut settings = desktop.settings(PresenceSource::InputDevices);
    let refused = PresenceMonitor::start(&settings, Box::new(|_| {}));
    let message = refused.err().expect("refused").to_string();
    assert!(message.contains("input-devices: "), "{message}");
    settings.sources.insert(PresenceSource::Terminals);
    let observed = ObservedMonitor::start(&settings);
    let problems = observed.monitor.sources().into_iter();
    let problems: Vec<_> = problems
        .map(|one| (one.source, one.problem.is_some()))
        .collect();
    let expected = [
        (PresenceSource::InputDevices, true),
        (PresenceSource::Terminals, false),
    ];
    assert_eq!(problems, expected);
}

#[test]
fn computer_on_its_battery_is_in_use() {
    let desktop = TestDesktop::new();
    let supply = |name: &str, file: &str, text: &str| {
        desktop.write(&format!("sys/class/power_supply/{name}/{file}"), text);
    };
    supply("BAT0", "type", "Battery\n");
    supply("AC", "type", "Mains\n");
    supply("hidpp_0", "type", "Battery\n");
    supply("hidpp_0", "scope", "Device\n");
    supply("hidpp_0", "status", "Discharging\n");
    let cases = [
        ("Charging\n", "1\n", None),
        ("Discharging\n", "0\n", Some(EvictionCause::Power)),
        // A weak charger.
        ("Discharging\n", "1\n", None),
        ("Not charging\n", "0\n", None),
    ];
    for (status, online, cause) in cases {
        supply("BAT0", "status", status);
        supply("AC", "online", online);
        let mut settings = desktop.settings(PresenceSource::Power);
        settings.sources.insert(PresenceSource::Terminals);
        let observed = ObservedMonitor::start(&settings);
        assert_eq!(observed.cause(), cause, "{status}{online}");
        settings.on_battery = true;
        let observed = ObservedMonitor::start(&settings);
        assert_eq!(observed.cause(), None);
    }
}

#[test]
fn scheduled_shutdown_is_the_time_by_which_tasks_must_have_ended() {
    let desktop = TestDesktop::new();
    let mut settings = desktop.settings(PresenceSource::Shutdown);
    settings.sources.insert(PresenceSource::Terminals);
    let observed = ObservedMonitor::start(&settings);
    assert_eq!(observed.monitor.current().closes, None);
    let schedule = |usec: u64| {
        let text = format!("USEC={usec}\nWARN_WALL=1\nMODE=reboot\n");
        desktop.write("run/systemd/shutdown/scheduled", &text);
    };
    schedule(4_000_000_000_000_000);
    let observed = ObservedMonitor::start(&settings);
    let closes = observed.monitor.current().closes;
    let closes = closes.map(tollgate_model::Instant::as_micros);
    assert_eq!(closes, Some(4_000_000_000_000_000));
    assert_eq!(observed.cause(), None);
    schedule(1_000_000);
    let observed = ObservedMonitor::start(&settings);
    assert_eq!(observed.cause(), Some(EvictionCause::Reboot));
}
