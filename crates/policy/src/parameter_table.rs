//! The macro that makes a table of parameters.

/// Expands to the parameters of a policy, a row each. A row has the key, the kind of its place with the field, and the
/// meaning. A number has its range, also in words. A parameter that does not apply to every policy of the family names
/// the function that returns whether it does.
///
/// ```
/// use tollgate_policy::{ParameterTable, PolicyParameter, parameter_table};
///
/// #[derive(Clone, Copy, Debug)]
/// struct Settings {
///     patient: bool,
///     hours: f64,
/// }
///
/// impl ParameterTable for Settings {
///     const PARAMETERS: &'static [PolicyParameter<Self>] = parameter_table! {
///         "patient" => Word(patient): "whether a job may wait";
///         "hours" => Number(hours in 0.0.., "a number, not negative"):
///             "how long it may wait" if |settings| settings.patient;
///     };
/// }
///
/// let mut settings = Settings { patient: true, hours: 2.0 };
/// settings.set_parameter("hasty", "hours=3.5")?;
/// assert_eq!(settings.parameter_value("hours").as_deref(), Some("3.5"));
/// settings.set_parameter("hasty", "patient=false")?;
/// assert!(settings.set_parameter("hasty", "hours=1").is_err());
/// # Ok::<(), tollgate_policy::PolicyError>(())
/// ```
#[macro_export]
macro_rules! parameter_table {
    ($($key:literal => $kind:ident($($field:ident).+ $(in $range:expr, $values:literal)?):
        $meaning:literal $(if $applies:expr)?;)*) => {
        &[$($crate::PolicyParameter {
            key: $key,
            meaning: $meaning,
            applies: $crate::parameter_table!(@applies $($applies)?),
            place: |settings| $crate::ParameterPlace::$kind(
                &mut settings.$($field).+
                $(, |number| ($range).contains(&number), $values)?
            ),
        }),*]
    };
    (@applies) => { |_| true };
    (@applies $applies:expr) => { $applies };
}
