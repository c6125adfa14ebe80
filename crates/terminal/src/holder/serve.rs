//! The requests of the clients of a holder, from their connection to their end.

use std::io;
use std::os::unix::net::UnixListener;

use rustix::event::{PollFd, PollFlags};

use super::client::{ClientRole, HeldClient};
use super::{HolderOptions, MAX_CLIENTS, MAX_INPUT, MAX_SILENCE, TerminalHolder, socket, wait_for};
use crate::message::{ClientMessage, DetachReason, HolderMessage, TerminalAccess, WindowSize};

impl TerminalHolder {
    pub(super) fn serve_client(&mut self, at: usize, flags: PollFlags) -> io::Result<()> {
        if flags.contains(PollFlags::OUT) {
            self.clients[at].write();
            if self.clients[at].must_redraw() {
                let picture = self.picture(at);
                self.clients[at].redraw(picture);
            }
        }
        if flags.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            self.clients[at].read();
            while let Some(message) = self.clients[at].next_message() {
                self.on_message(at, message)?;
            }
        }
        Ok(())
    }

    fn on_message(&mut self, at: usize, message: ClientMessage) -> io::Result<()> {
        match message {
            ClientMessage::Attach { access, window } => self.attach(at, access, window)?,
            ClientMessage::DetachAll => {
                let count = self.detach_clients(DetachReason::AllDetached, |_| true);
                self.clients[at].end(&HolderMessage::AllDetached(count));
            }
            ClientMessage::Input(bytes) => {
                if let (true, Some(&last)) = (self.clients[at].is_writer(), bytes.last()) {
                    self.input.extend(bytes);
                    self.last_input = last;
                }
            }
            ClientMessage::EndOfInput => self.end_input(at)?,
            ClientMessage::Window(window) => {
                self.clients[at].set_window(window);
                self.fit_window()?;
            }
            ClientMessage::Detach => {
                self.clients[at].end(&HolderMessage::Detached(DetachReason::Own));
                self.fit_window()?;
            }
            ClientMessage::Ping => self.clients[at].send(&HolderMessage::Pong),
        }
        Ok(())
    }

    fn attach(
        &mut self,
        at: usize,
        access: TerminalAccess,
        window: Option<WindowSize>,
    ) -> io::Result<()> {
        if self.clients[at].is_attached() {
            return Ok(());
        }
        let writer = self.clients.iter().find(|client| client.is_writer());
        match (access, writer) {
            (TerminalAccess::Write, Some(writer)) => {
                let since_s = writer.attached_at_s();
                self.clients[at].end(&HolderMessage::Occupied { since_s });
                return Ok(());
            }
            (TerminalAccess::TakeOver, Some(_)) => {
                self.detach_clients(DetachReason::TakenOver, HeldClient::is_writer);
            }
            (TerminalAccess::ReadOnly, _) | (_, None) => {}
        }
        let role = match access {
            TerminalAccess::ReadOnly => ClientRole::Reader,
            TerminalAccess::Write | TerminalAccess::TakeOver => ClientRole::Writer,
        };
        self.clients[at].attach(role, window);
        self.fit_window()?;
        let picture = self.picture(at);
        self.clients[at].redraw(picture);
        Ok(())
    }

    /// Returns the output with which a client begins. It is a drawing of the screen for a terminal, the last
    /// output for a reader without a window, and nothing for a script that types.
    fn picture(&self, at: usize) -> Vec<u8> {
        match (self.clients[at].window(), self.clients[at].is_writer()) {
            (Some(_), _) => self.screen.redraw(),
            (None, false) => self.screen.history(),
            (None, true) => Vec::new(),
        }
    }

    /// Types the character that means the end of input: twice if a line is not complete.
    fn end_input(&mut self, at: usize) -> io::Result<()> {
        if self.clients[at].is_writer() {
            let end = self.command.end_of_input()?;
            let count = 1 + usize::from(self.last_input != b'\n');
            self.input.extend(std::iter::repeat_n(end, count));
            self.last_input = b'\n';
        }
        Ok(())
    }

    /// Sets the window to the smallest of those that are attached.
    pub(super) fn fit_window(&mut self) -> io::Result<()> {
        let windows = self.clients.iter().filter_map(HeldClient::window);
        let smallest = windows.reduce(|one, other| WindowSize {
            columns: one.columns.min(other.columns),
            rows: one.rows.min(other.rows),
        });
        if let Some(window) = smallest.filter(|window| *window != self.window) {
            self.window = window;
            self.command.resize(window)?;
            self.screen.resize(window);
        }
        Ok(())
    }

    /// Detaches the attached clients that a condition selects. Returns their number.
    fn detach_clients(&mut self, reason: DetachReason, is_meant: fn(&HeldClient) -> bool) -> u32 {
        let mut count = 0;
        for client in &mut self.clients {
            if client.is_attached() && is_meant(client) {
                client.end(&HolderMessage::Detached(reason));
                count += 1;
            }
        }
        count
    }

    pub(super) fn drop_late_clients(&mut self) {
        let takes_input = self.input.len() < MAX_INPUT;
        for client in &mut self.clients {
            client.check_silence(MAX_SILENCE, takes_input);
            if let Some(timeout) = self.stall_timeout {
                client.check_stall(timeout);
            }
        }
    }

    pub(super) fn remove_gone_clients(&mut self) -> io::Result<()> {
        self.clients.retain(|client| !client.is_gone());
        self.fit_window()
    }

    pub(super) fn accept(&mut self, listener: &UnixListener) -> io::Result<()> {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            // The client has left, or there are too many open files for a moment.
            Err(_) => return Ok(()),
        };
        if self.clients.len() < MAX_CLIENTS && socket::is_allowed(&stream) {
            self.clients.push(HeldClient::new(stream)?);
        }
        Ok(())
    }

    /// Sends the end to all clients, and waits until each has it or takes nothing more.
    pub(super) fn finish(&mut self, code: u8) -> io::Result<()> {
        for client in &mut self.clients {
            match client.is_attached() {
                true => client.end(&HolderMessage::Ended(code)),
                false => client.leave(),
            }
        }
        let timeout = self.stall_timeout.unwrap_or(HolderOptions::STALL_TIMEOUT);
        self.clients.retain(|client| !client.is_gone());
        while !self.clients.is_empty() {
            let mut fds: Vec<PollFd<'_>> = self
                .clients
                .iter()
                .map(|client| PollFd::new(client.stream(), PollFlags::OUT))
                .collect();
            wait_for(&mut fds, Some(timeout))?;
            for client in &mut self.clients {
                client.write();
                client.check_stall(timeout);
            }
            self.clients.retain(|client| !client.is_gone());
        }
        Ok(())
    }
}
