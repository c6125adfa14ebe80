//! `tollgate drain` and `tollgate resume`.

use std::io::{self, Write};

use tollgate_client::types::{DrainRequest, NodeAvailability, NodeList};

use crate::connection::endpoint::ServiceAddressArgs;
use crate::exit::CliFailure;
use crate::output::messages::pluralise;

/// The nodes to drain, or to resume.
#[derive(Debug, clap::Args)]
pub(crate) struct DrainArgs {
    /// Name of the worker [default: the service's own host]
    worker: Option<String>,
    #[command(flatten)]
    address: ServiceAddressArgs,
}

/// `tollgate drain`.
pub(crate) fn drain(args: &DrainArgs) -> Result<(), CliFailure> {
    let nodes = post(args, true)?;
    let of_worker = nodes.nodes.iter().filter(|node| node.worker == args.worker);
    let n_busy = of_worker
        .filter(|node| node.state == NodeAvailability::Draining)
        .count();
    let still = match n_busy {
        0 => "nothing runs there".to_owned(),
        n => format!("jobs still run on {}", pluralise(n, "node")),
    };
    writeln!(
        io::stdout(),
        "{}: no other job starts there; {still}",
        args.place()
    )?;
    Ok(())
}

/// `tollgate resume`.
pub(crate) fn resume(args: &DrainArgs) -> Result<(), CliFailure> {
    post(args, false)?;
    writeln!(io::stdout(), "{}: jobs start there again", args.place())?;
    Ok(())
}

impl DrainArgs {
    fn place(&self) -> String {
        match &self.worker {
            Some(name) => format!("worker {name}"),
            None => "this host".to_owned(),
        }
    }
}

fn post(args: &DrainArgs, drained: bool) -> Result<NodeList, CliFailure> {
    let mut client = args.address.connect()?;
    let request = DrainRequest {
        worker: args.worker.clone(),
        drained,
    };
    let _: DrainRequest = client.post("/v1/drain", &request)?;
    Ok(client.get("/v1/nodes")?)
}
