//! Tables of the settings of a world.

/// Expands a table of the settings of a world into `PARAMETERS`, and `apply`, which sets their values. A row has the
/// owner: `world`, or `policy` for settings that occur in the text of policies. Then it has the key, meaning, default,
/// range, and `whole` or `real`. The function that sets the value comes last, unless the value is read elsewhere.
macro_rules! world_parameters {
    ($settings:ty: $($owner:ident $key:literal $meaning:literal $default:literal
        $low:literal..$high:literal $number:ident $($set:expr)?;)*) => {
        pub(super) const PARAMETERS: &[WorldParameter] = &[$(WorldParameter {
            key: $key,
            meaning: $meaning,
            default: $default,
            range: ($low, $high),
            whole: world_parameters!(@whole $number),
            environment: world_parameters!(@environment $owner),
        }),*];

        fn apply(settings: &mut $settings, values: &ParameterValues) {
            $(world_parameters!(@apply $settings, settings, values.get($key) $(, $set)?);)*
        }
    };
    (@whole whole) => { true };
    (@whole real) => { false };
    (@environment world) => { true };
    (@environment policy) => { false };
    (@apply $type:ty, $settings:expr, $value:expr, $set:expr) => {{
        let set: fn(&mut $type, f64) = $set;
        set($settings, $value);
    }};
    (@apply $type:ty, $settings:expr, $value:expr) => {};
}

pub(super) use world_parameters;
