//! The normal distribution and its inverse.

#![allow(
    clippy::excessive_precision,
    reason = "the coefficients stand as they were published"
)]

/// Returns the probability that a normal deviate is at most `z`.
pub(crate) fn probability(z: f64) -> f64 {
    0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

/// Returns the value that a normal deviate stays below with probability `p`, in (0, 1). It is PPND16
/// (Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37,
/// 1988), relative error about 1e-16.
pub(crate) fn quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(&CENTRE_NUMERATOR, r) / polynomial(&CENTRE_DENOMINATOR, r);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = (-libm::log(tail)).sqrt();
    let magnitude = if r <= 5.0 {
        let r = r - 1.6;
        polynomial(&NEAR_NUMERATOR, r) / polynomial(&NEAR_DENOMINATOR, r)
    } else {
        let r = r - 5.0;
        polynomial(&FAR_NUMERATOR, r) / polynomial(&FAR_DENOMINATOR, r)
    };
    if q < 0.0 { -magnitude } else { magnitude }
}

/// Evaluates a polynomial by Horner's rule; the constant comes first.
fn polynomial(coefficients: &[f64; 8], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

// The coefficients of AS 241: a/b for the centre, c/d near, e/f far in the tails.
const CENTRE_NUMERATOR: [f64; 8] = [
    3.387_132_872_796_366_608,
    133.141_667_891_784_377_45,
    1_971.590_950_306_551_442_7,
    13_731.693_765_509_461_125,
    45_921.953_931_549_871_457,
    67_265.770_927_008_700_853,
    33_430.575_583_588_128_105,
    2_509.080_928_730_122_672_7,
];
const CENTRE_DENOMINATOR: [f64; 8] = [
    1.0,
    42.313_330_701_600_911_252,
    687.187_007_492_057_908_3,
    5_394.196_021_424_751_107_7,
    21_213.794_301_586_595_867,
    39_307.895_800_092_710_61,
    28_729.085_735_721_942_674,
    5_226.495_278_852_854_561,
];
const NEAR_NUMERATOR: [f64; 8] = [
    1.423_437_110_749_683_577_34,
    4.630_337_846_156_545_295_9,
    5.769_497_221_460_691_405_5,
    3.647_848_324_763_204_605_04,
    1.270_458_252_452_368_382_58,
    0.241_780_725_177_450_611_77,
    0.022_723_844_989_269_184_583_3,
    0.000_774_545_014_278_341_407_64,
];
const NEAR_DENOMINATOR: [f64; 8] = [
    1.0,
    2.053_191_626_637_758_821_87,
    1.676_384_830_183_803_849_4,
    0.689_767_334_985_100_004_55,
    0.148_103_976_427_480_074_59,
    0.015_198_666_563_616_457_196_6,
    0.000_547_593_808_499_534_494_6,
    0.000_000_001_050_750_071_644_416_843_24,
];
const FAR_NUMERATOR: [f64; 8] = [
    6.657_904_643_501_103_777_2,
    5.463_784_911_164_114_369_9,
    1.784_826_539_917_291_335_8,
    0.296_560_571_828_504_891_23,
    0.026_532_189_526_576_123_093,
    0.001_242_660_947_388_078_438_6,
    0.000_027_115_555_687_434_875_781_5,
    0.000_000_201_033_439_929_228_813_265,
];
const FAR_DENOMINATOR: [f64; 8] = [
    1.0,
    0.599_832_206_555_887_937_69,
    0.136_929_880_922_735_805_31,
    0.014_875_361_290_850_614_852_5,
    0.000_786_869_131_145_613_259_1,
    0.000_018_463_183_175_100_546_818,
    0.000_000_142_151_175_831_644_588_87,
    0.000_000_000_000_002_044_263_103_389_939_785_64,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference values from the `statistics` module of Python.
    const QUANTILES: [(f64, f64); 8] = [
        (0.5, 0.0),
        (0.1, -1.2815515655446008),
        (0.9, 1.2815515655446008),
        (0.07, -1.4757910281791702),
        (0.975, 1.9599639845400536),
        (0.001, -3.090232306167813),
        (1e-12, -7.034483825301132),
        (1e-20, -9.262340089798405),
    ];

    #[test]
    fn quantiles_match_the_normal_distribution() {
        for (p, z) in QUANTILES {
            assert!((quantile(p) - z).abs() <= 1e-14 * z.abs().max(1.0), "{p}");
            assert!((probability(z) - p).abs() <= 1e-14, "{z}");
        }
    }
}
