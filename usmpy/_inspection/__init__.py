"""What a user looks at: devices, memory, arrays as text and pictures, traces."""
