//! The definition of a policy: its name, its origin and its settings.

use std::fmt::Debug;

use tollgate_model::{Market, Probability};

use crate::parameters::{ParameterInfo, ParameterTable};
use crate::policy::Policy;
use crate::policy_error::PolicyError;

/// A policy with a name, as a [`PolicyRegistry`](crate::PolicyRegistry) lists it.
///
/// Policies that differ in the values of their settings alone are several definitions with one type
/// of settings.
#[derive(Clone, Copy, Debug)]
pub struct PolicyDefinition {
    /// The policy's name: letters, digits and `-`.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Where the policy fails, or what it does not do, in one line; may be empty.
    pub limits: &'static str,
    /// The publication or the place that the policy comes from.
    pub source: &'static str,
    /// The markets in which the policy runs when no policy is named.
    pub markets: &'static [Market],
    /// The settings, with each parameter at its default.
    pub settings: &'static dyn PolicySettings,
}

/// The settings of a policy, from which the policy is created.
///
/// A type of settings also implements [`ParameterTable`] and `Clone`, from which [`DynSettings`]
/// follows.
///
/// ```
/// use tollgate_model::{Credits, Distribution, JobId, JobSpec, Market, Reason};
/// use tollgate_policy::{
///     AdmissionDecision, ParameterTable, Policy, PolicyContext, PolicyDefinition,
///     PolicyParameter, PolicyRegistry, PolicySettings, ProbeScratch, View,
///     parameter_table,
/// };
///
/// /// Starts jobs strictly in order of submission; unless patient, rejects those that would wait.
/// #[derive(Clone, Debug)]
/// struct Hasty {
///     patient: bool,
///     waiting: Vec<JobId>,
/// }
///
/// impl Policy for Hasty {
///     fn probe(
///         &self,
///         view: View<'_>,
///         spec: &JobSpec,
///         _: Option<&Distribution>,
///         _: &mut ProbeScratch,
///     ) -> AdmissionDecision {
///         let usable = if self.patient { view.n_nodes() } else { view.n_idle() };
///         match spec.procs <= usable {
///             true => AdmissionDecision::Queue,
///             false => AdmissionDecision::Reject(Reason::TooManyProcs),
///         }
///     }
///
///     fn clear(&mut self) {
///         self.waiting.clear();
///     }
///
///     fn queued(&mut self, _: View<'_>, job: JobId) {
///         self.waiting.push(job);
///     }
///
///     fn dequeued(&mut self, _: View<'_>, job: JobId) {
///         self.waiting.retain(|&waiting| waiting != job);
///     }
///
///     fn pass(&mut self, cx: &mut PolicyContext<'_>) {
///         while let Some(&job) = self.waiting.first()
///             && cx.job(job).spec.procs <= cx.n_idle()
///         {
///             self.waiting.remove(0);
///             cx.start(job, Credits::ZERO);
///         }
///     }
/// }
///
/// #[derive(Clone, Copy, Debug)]
/// struct HastySettings {
///     patient: bool,
/// }
///
/// impl ParameterTable for HastySettings {
///     const PARAMETERS: &'static [PolicyParameter<Self>] = parameter_table! {
///         "patient" => Word(patient): "whether a job may wait";
///     };
/// }
///
/// impl PolicySettings for HastySettings {
///     fn build(&self, _: Market) -> Box<dyn Policy> {
///         Box::new(Hasty { patient: self.patient, waiting: Vec::new() })
///     }
/// }
///
/// const HASTY: PolicyDefinition = PolicyDefinition {
///     name: "hasty",
///     summary: "strictly in order of submission; rejects a job that would wait",
///     limits: "knows no deadlines",
///     source: "an example",
///     markets: &[Market::None],
///     settings: &HastySettings { patient: false },
/// };
///
/// let registry = PolicyRegistry::default().with(HASTY);
/// let chosen = registry.parse_list("hasty,hasty:patient=true")?;
/// assert_eq!(chosen[1].to_string(), "hasty:patient=true");
/// # Ok::<(), tollgate_policy::PolicyError>(())
/// ```
pub trait PolicySettings: DynSettings + Debug + Send + Sync {
    /// Creates the policy.
    fn build(&self, market: Market) -> Box<dyn Policy>;

    /// Returns true if the policy plans with what is believed of the run time of each job. The driver then states
    /// a belief about every job, and states it anew while the job waits. False by default: the driver's other
    /// settings decide whether jobs are forecast.
    fn uses_beliefs(&self) -> bool {
        false
    }

    /// Returns true if jobs that are submitted together have one decision; see
    /// [`Policy::probe_array`]. False by default.
    fn decides_arrays(&self) -> bool {
        false
    }

    /// Returns true if decisions depend on budgets or penalty rates where users bid. Such a policy
    /// does not run without a market, and a study simulates it anew for each set of bids. False by
    /// default.
    fn uses_bids(&self) -> bool {
        false
    }

    /// Returns true if jobs share nodes or are paused: such a policy needs an engine that grants rates,
    /// which a stock batch system is not. False by default.
    fn shares_nodes(&self) -> bool {
        false
    }

    /// Returns true if no job starts that would still run when a maintenance window begins, and promises
    /// are made around windows. False by default.
    fn plans_maintenance(&self) -> bool {
        false
    }

    /// Returns true if the policy chooses the hosts of its jobs. Then it counts devices and licences, keeps a
    /// job on one host, and starts none on a host that closes before its end. False by default.
    fn chooses_hosts(&self) -> bool {
        false
    }

    /// Returns true if the policy keeps the promises that jobs bring along from another one: they wait in
    /// the place of their deadlines, and nothing is admitted at their cost. False by default.
    fn takes_over_promises(&self) -> bool {
        false
    }

    /// Returns true if jobs whose deadlines are not promised run with their deadlines, where no promise suffers.
    /// False by default: such a job is then one without a deadline.
    fn runs_unpromised(&self) -> bool {
        false
    }

    /// Returns the probability with which the policy promises a deadline, if it promises at a level of its own.
    /// None by default.
    fn promise_level(&self) -> Option<Probability> {
        None
    }

    /// Returns true if another program decides. Such a policy cannot be copied, and nothing is known of what
    /// its decisions depend on. So no service runs by it, and a study simulates it anew for each set of bids.
    /// False by default.
    fn is_external(&self) -> bool {
        false
    }
}

/// The parameters of settings whose type is not known. All [`PolicySettings`] with a
/// [`ParameterTable`] have it.
pub trait DynSettings {
    /// Changes a parameter; see [`ParameterTable::set_parameter`].
    ///
    /// # Errors
    /// Fails if the word names no parameter or no legal value.
    fn set(&mut self, policy: &str, word: &str) -> Result<(), PolicyError>;

    /// Returns the parameters that apply; see [`ParameterTable::list_parameters`].
    fn list(&self) -> Vec<ParameterInfo>;

    /// Returns the value of a parameter; see [`ParameterTable::parameter_value`].
    fn value(&self, key: &str) -> Option<String>;

    /// Copies the settings.
    fn clone_box(&self) -> Box<dyn PolicySettings>;
}

impl<S: PolicySettings + ParameterTable + Clone> DynSettings for S {
    fn set(&mut self, policy: &str, word: &str) -> Result<(), PolicyError> {
        self.set_parameter(policy, word)
    }

    fn list(&self) -> Vec<ParameterInfo> {
        self.list_parameters()
    }

    fn value(&self, key: &str) -> Option<String> {
        self.parameter_value(key)
    }

    fn clone_box(&self) -> Box<dyn PolicySettings> {
        Box::new(*self)
    }
}
