"""Three ways to divide the training of LeNet over devices, all with the gradients of one device.

- by data: every device has all weights and a part of the batch; gradients are summed
- within the layers: every device has a part of each layer; activations travel
- by layers: every device has some of the layers; micro-batches follow each other through them

`question` says what is asked, `division` and `stages` what each device holds, `devices/` does it in
one process per device, `running` starts them, `results` is what was found.
"""
