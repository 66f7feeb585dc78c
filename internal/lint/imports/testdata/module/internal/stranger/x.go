package stranger
