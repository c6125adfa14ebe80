//! The options of a command, described to the parser if the command is called: to describe those of
//! all commands takes longer than most commands.

use std::ops::Deref;

use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command as ClapCommand, Error, FromArgMatches};

/// The options of one of several commands. The command is described where it is named, because the
/// list of commands has its description, but not its options.
#[derive(Debug)]
pub(crate) struct Deferred<A>(Box<A>);

impl<A> Deref for Deferred<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.0
    }
}

impl<A: FromArgMatches> FromArgMatches for Deferred<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        A::from_arg_matches(matches).map(|args| Self(Box::new(args)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<A: Args> Args for Deferred<A> {
    fn augment_args(command: ClapCommand) -> ClapCommand {
        command.defer(with_options::<A>)
    }

    fn augment_args_for_update(command: ClapCommand) -> ClapCommand {
        command.defer(with_options::<A>)
    }
}

/// Adds the options to a command and keeps its description: the documentation of a struct of options
/// would replace it.
fn with_options<A: Args>(command: ClapCommand) -> ClapCommand {
    let about = Resettable::from(command.get_about().cloned());
    let long_about = Resettable::from(command.get_long_about().cloned());
    A::augment_args(command).about(about).long_about(long_about)
}
