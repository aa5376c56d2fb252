package cuda

// UnmarshalText reads a version as [ParseVersion] does.
func (v *Version) UnmarshalText(text []byte) (err error) {
	*v, err = ParseVersion(string(text))
	return err
}

// UnmarshalText reads a driver version as [ParseDriver] does.
func (d *Driver) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDriver(string(text))
	return err
}

// UnmarshalText reads a compute capability as [ParseComputeCapability] does.
func (c *ComputeCapability) UnmarshalText(text []byte) (err error) {
	*c, err = ParseComputeCapability(string(text))
	return err
}
